// The planned times of a fragment's steps: one after another, and copies between tiers next to them, on the links between these.
#pragma once

#include "compiler/memory/Allocate.h"

#include <array>

namespace npar::memory {

/// Takes the steps of one fragment in their order. A copy between tiers begins when its link is free and the steps before it have ended; a
/// step that uses the copy waits for it.
class StepClock {
public:
  struct Span {
    double begin = 0, end = 0;
  };

  explicit StepClock(const FragmentModel &fragment) : fragment(fragment), ready(fragment.values.size(), 0.0) {}

  /// The next step, which is no message.
  Span time(const Action &action);
  /// The end of the compute chain so far.
  double now() const { return lanes[static_cast<size_t>(Lane::Compute)]; }
  /// The end of all steps so far.
  double end() const;

private:
  const FragmentModel &fragment;
  std::vector<double> ready; ///< by value: the end of the copy that makes it
  std::array<double, laneCount> lanes = {};
};

} // namespace npar::memory
