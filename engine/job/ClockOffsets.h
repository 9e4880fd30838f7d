// Measures how far the clocks of a job's processes are apart, by messages between them.
#pragma once

#include "engine/job/Processes.h"

#include <vector>

namespace npar::job {

/// When one process began and ended one exchange, in seconds on its own clock. No process can finish an exchange before all have begun it.
struct ClockExchange {
  double begun = 0, ended = 0;
};

struct ClockOffset {
  double seconds = 0;     ///< to add to a process's times to get those of process 0
  double uncertainty = 0; ///< largest error of the offset in seconds, if the clocks run at the same speed
};

/// `exchanges[process][n]` is that process's part in the nth exchange; all processes list the same exchanges. Each exchange bounds the
/// offset on both sides, because a process ends it only after the other has begun it. The result is the middle of the interval that
/// satisfies all bounds (Cristian: Probabilistic clock synchronization, 1989).
std::vector<ClockOffset> clockOffsets(const std::vector<std::vector<ClockExchange>> &exchanges);

/// Measures the offsets of all processes' clocks (`engine::SystemClock`) from the first one's. All processes call it together.
engine::Result<std::vector<ClockOffset>> measureClocks(const Processes &processes);

} // namespace npar::job
