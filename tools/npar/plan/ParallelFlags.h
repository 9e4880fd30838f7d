// What `--jobs` and the signals that stop a process say of plans that are compiled in parallel.
#pragma once

#include "tools/npar/plan/Attempt.h"
#include "tools/npar/terminal/StopSignals.h"

namespace npar::driver {

/// From now on a signal ends the work after the plans that are being compiled; a second one ends the process at once.
inline ParallelWork stoppableWork(int jobs) {
  stopWhenAsked("", /*quiet=*/true);
  return {jobs, stopSignal};
}

} // namespace npar::driver
