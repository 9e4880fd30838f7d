// The flag --place: in which order ranks go onto hosts, whatever the plan says.
#pragma once

#include "engine/program/HostPlacement.h"
#include "tools/npar/terminal/CliApp.h"
#include "tools/npar/terminal/Outcome.h"

#include <optional>
#include <string>

namespace npar::driver {

void addPlaceTo(CLI::App &app, std::optional<std::string> &place);

/// What the flag says, or, where it is not given, what the program's plan says.
Outcome<program::PlaceWords> placeWords(const std::optional<std::string> &place, const program::Program &program);

} // namespace npar::driver
