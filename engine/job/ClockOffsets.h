// Measures how far the clocks of a job's processes are apart, by messages between them.
#pragma once

#include <vector>

namespace npar::job {

/// One process's part in one exchange, which nobody finishes before all have begun it: when it began and ended, in seconds of its own
/// clock.
struct ClockExchange {
  double begun = 0, ended = 0;
};

struct ClockOffset {
  double seconds = 0;     ///< to add to a process's times to get those of process 0
  double uncertainty = 0; ///< largest error of the offset in seconds, if the clocks run at the same speed
};

/// `exchanges`: by process, of each as many, the n-th of all the same. Each bounds the offset from both sides, for a process ends it after
/// the other has begun it; the offset is the middle of what all leave (Cristian: Probabilistic clock synchronization, 1989).
std::vector<ClockOffset> clockOffsets(const std::vector<std::vector<ClockExchange>> &exchanges);

} // namespace npar::job
