// Computes when each step would run if every step took its planned time: the clock of a backend without arithmetic.
#pragma once

#include "engine/runtime/Operations.h"

namespace npar::engine {

struct VirtualTimeline {
  std::vector<double> begin, end; ///< per node, seconds from the training step's start
  double length = 0;
};

/// Every rank has one compute lane, which runs its steps in program order. Members of a communication event begin together, when the last
/// of them is ready, and end together; members in other sessions are assumed to be ready.
VirtualTimeline planTimeline(const StepGraph &graph, const Operations &operations);

} // namespace npar::engine
