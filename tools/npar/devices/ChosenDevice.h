// Which device a command's programs run on: its flag, and what a text must be compiled for.
#pragma once

#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

/// `--backend cpu | cuda` for commands that compute; `backend` has the default. With it goes what `addLibrariesTo` adds.
void addDeviceTo(CLI::App &app, std::string &backend, std::string &products, std::string &attention);

/// `--products own | matching | library` and `--attention own | library`, for those who have a `--backend` of their own.
void addLibrariesTo(CLI::App &app, std::string &products, std::string &attention);

/// `--cuda-graph`, likewise.
void addGraphsTo(CLI::App &app, bool &graphs);
/// Good, or why that has no meaning with the other flags.
ExitCode checkGraphs(bool graphs, const std::string &backend, bool traces);

/// A text is compiled for the GPU that this process has, where the backend is `cuda`; a compiled program has its targets. An error: there
/// is no GPU that npar can use, or `products` or `attention` has no meaning.
ExitCode chooseTargets(ModelOptions &model, const std::string &backend, const std::string &products, const std::string &attention);

} // namespace npar::driver
