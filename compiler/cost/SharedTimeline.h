// The simulation of lanes that share cores.
#pragma once

#include "compiler/cost/Timeline.h"

namespace npar::cost {

/// As `simulate`, for `graph.cores` above 0.
Timeline simulateShared(const TaskGraph &graph);

} // namespace npar::cost
