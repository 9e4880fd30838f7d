// The flags of `npar simulate` that look beyond the undisturbed step.
#pragma once

#include "tools/lib/planner/simulate/Outlook.h"
#include "tools/npar/terminal/ExitCode.h"

#include <CLI/CLI.hpp>

namespace npar::driver {

void addOutlookTo(CLI::App &app, planner::OutlookRequest &flags);
/// Usage if a flag needs another one that is missing.
ExitCode checkOutlook(const planner::OutlookRequest &flags);

} // namespace npar::driver
