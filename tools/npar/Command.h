// One subcommand of the driver: its flags and what it does. Add one: a file with such a function, a line in main.cpp.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

namespace npar::driver {

/// A subcommand as registered: run is called after its flags were read.
struct Command {
  CLI::App *app = nullptr;
  std::function<ExitCode()> run;
  bool takesRest = false; ///< words that no flag of it takes are another command's
};

Command addAutopsyCommand(CLI::App &driver);
Command addCheckpointCommand(CLI::App &driver);
Command addCompileCommand(CLI::App &driver);
Command addCompletionCommand(CLI::App &driver);
Command addDataCommand(CLI::App &driver);
Command addDevicesCommand(CLI::App &driver);
Command addDoctorCommand(CLI::App &driver);
Command addEvalCommand(CLI::App &driver);
Command addExplainCommand(CLI::App &driver);
Command addGenerateCommand(CLI::App &driver);
Command addGuardCommand(CLI::App &driver);
Command addInspectCommand(CLI::App &driver);
Command addLaunchCommand(CLI::App &driver);
Command addMachineCommand(CLI::App &driver);
Command addManualCommand(CLI::App &driver);
Command addVerifyCommand(CLI::App &driver);
Command addScheduleCommand(CLI::App &driver);
Command addPlanCommand(CLI::App &driver);
Command addSimulateCommand(CLI::App &driver);
Command addSweepCommand(CLI::App &driver);
Command addTrainCommand(CLI::App &driver);
Command addTokensCommand(CLI::App &driver);
Command addImportCommand(CLI::App &driver);
Command addExportCommand(CLI::App &driver);

} // namespace npar::driver
