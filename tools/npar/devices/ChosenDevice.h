// Which device a command's programs run on: its flag, and what a text must be compiled for.
#pragma once

#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

/// `--backend cpu | cuda` for commands that compute; `backend` has the default.
void addDeviceTo(CLI::App &app, std::string &backend);

/// A text is compiled for the GPU that this process has, where the backend is `cuda`; a compiled program has its targets. An error: there is
/// no GPU that npar can use.
ExitCode chooseTargets(ModelOptions &model, const std::string &backend);

} // namespace npar::driver
