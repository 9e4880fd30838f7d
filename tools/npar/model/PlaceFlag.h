// The flag --place: the order in which ranks are placed on hosts, overriding the plan.
#pragma once

#include "engine/program/HostPlacement.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>

namespace npar::driver {

void addPlaceTo(CLI::App &app, std::optional<std::string> &place);

/// The placement given by the flag, else the one in the program's plan.
Outcome<program::PlaceWords> placeWords(const std::optional<std::string> &place, const program::Program &program);

} // namespace npar::driver
