// Keeps the end of the compute chain, of each link between tiers, and of each copy.
#include "compiler/memory/StepClock.h"

#include <algorithm>

namespace npar::memory {

Lane laneOfCopy(program::Tier from, program::Tier to) {
  if (from == to)
    return Lane::Compute;
  if (from == program::Tier::File)
    return Lane::FromFile;
  if (to == program::Tier::File)
    return Lane::ToFile;
  return to == program::Tier::Host ? Lane::ToHost : Lane::ToDevice;
}

StepClock::Span StepClock::time(const Action &action) {
  double begin = std::max(now(), lanes[static_cast<size_t>(action.lane)]);
  for (uint32_t input : action.inputs)
    begin = std::max(begin, ready[input]);
  const double end = lanes[static_cast<size_t>(action.lane)] = begin + action.seconds;
  if (action.lane != Lane::Compute)
    for (uint32_t output : action.outputs)
      ready[output] = end;
  return {begin, end};
}

double StepClock::end() const { return *std::max_element(lanes.begin(), lanes.end()); }

} // namespace npar::memory
