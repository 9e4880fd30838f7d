// The flags --machine and --place.
#pragma once

#include "engine/program/HostPlacement.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>

namespace npar::driver {

using models::ModelOptions;

/// The flag --machine, for commands that plan; its word is `model.machine` until `findMachine` has put a path there.
void addMachineTo(CLI::App &app, ModelOptions &model);

/// Finds the machine that the flag names, if it is given. The machine of a compiled program is left as it is, to be refused.
ExitCode findMachine(ModelOptions &model);

/// The flag --devices, for commands that plan on hosts of a machine.
void addDevicesTo(CLI::App &app, ModelOptions &model);

void addPlaceTo(CLI::App &app, std::optional<std::string> &place);

/// The placement given by the flag, else the one in the program's plan.
Outcome<program::PlaceWords> placeWords(const std::optional<std::string> &place, const program::Program &program);

} // namespace npar::driver
