// `npar import --list`: the models that npar knows, with their sizes.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

/// Prints the models that `only` selects, as foreign::listModels takes it.
ExitCode printModels(const std::string &only, bool json);

} // namespace npar::driver
