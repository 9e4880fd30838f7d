// The work of a search under `--jobs` and the signals that stop a process.
#pragma once

#include "tools/lib/planner/search/SimulatePlans.h"
#include "tools/npar/terminal/StopSignals.h"

namespace npar::driver {

/// Sets the signals up so that the first one ends the work after the plans that are being compiled; a second one ends the process at once.
inline planner::ParallelWork stoppableWork(int jobs) {
  stopWhenAsked("", /*quiet=*/true);
  return {jobs, stopSignal};
}

} // namespace npar::driver
