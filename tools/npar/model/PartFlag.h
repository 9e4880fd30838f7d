// The flag of commands that read weights of which other files replace a part.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace npar::driver {

/// Adds `--weights-part PATH`, which can be repeated (engine/checkpoint/Parts.h).
void addPart(CLI::App &app, std::vector<std::string> &parts);

} // namespace npar::driver
