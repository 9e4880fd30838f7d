// The work of a search under `--jobs` and the signals that stop a process.
#pragma once

#include "tools/lib/planner/search/SimulatePlans.h"
#include "tools/npar/terminal/StopSignals.h"

#include <fmt/format.h>

namespace npar::driver {

/// Sets the signals up so that the first one ends the work, and a second one the process at once.
inline planner::ParallelWork stoppableWork(int jobs) {
  stopWhenAsked("", /*quiet=*/true);
  return {jobs, [](size_t tried, size_t all) {
            const char *signal = stopSignal();
            return signal ? engine::Status::runFailed(fmt::format("stopped by {} after {} of {} plans", signal, tried, all))
                          : engine::Status();
          }};
}

} // namespace npar::driver
