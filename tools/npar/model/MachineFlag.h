// The flag --machine.
#pragma once

#include "tools/lib/models/ModelOptions.h"
#include "tools/npar/terminal/ExitCode.h"

#include <CLI/CLI.hpp>

namespace npar::driver {

using models::ModelOptions;

/// The flag --machine, for commands that plan; its word is `model.machine` until `findMachine` has put a path there.
void addMachineTo(CLI::App &app, ModelOptions &model);

/// Finds the machine that the flag names, if it is given. The machine of a compiled program is left as it is, to be refused.
ExitCode findMachine(ModelOptions &model);

} // namespace npar::driver
