// The formulas of Young and Daly.
#include "tools/lib/planner/simulate/Failures.h"

#include <algorithm>
#include <cmath>

namespace npar::planner {

double youngInterval(const Failures &failures) { return std::sqrt(2 * failures.checkpoint * failures.between); }

double dalyInterval(const Failures &failures) {
  double ratio = failures.checkpoint / (2 * failures.between);
  if (ratio >= 1)
    return failures.between;
  return youngInterval(failures) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - failures.checkpoint;
}

double slowdown(const Failures &failures, double interval) {
  double mean = failures.between;
  return mean * std::exp(failures.restart / mean) * std::expm1((interval + failures.checkpoint) / mean) / interval;
}

int64_t stepsBetween(const Failures &failures, double secondsPerStep) {
  return std::max<int64_t>(1, std::llround(std::min(dalyInterval(failures) / secondsPerStep, 1e15)));
}

} // namespace npar::planner
