// When each step would run if every step took its planned time: the clock of a backend without arithmetic.
#pragma once

#include "engine/runtime/Operations.h"

namespace npar::engine {

struct VirtualTimeline {
  std::vector<double> begin, end; ///< per node, seconds from the training step's start
  double length = 0;
};

/// Every rank has one compute lane, which takes its steps in program order; members of a communication event begin together, when the last
/// of them is ready, and end together; those of other sessions are taken to be ready.
VirtualTimeline planTimeline(const StepGraph &graph, const Operations &operations);

} // namespace npar::engine
