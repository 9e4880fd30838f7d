// When the tasks of a schedule run, given the costs of the stages.
#pragma once

#include "compiler/cost/Timeline.h"
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// Seconds, or any unit. Without W tasks in the schedule, B is the whole backward.
struct StageCost {
  double forward = 1, backward = 1, weight = 1;
};

struct Simulation {
  cost::Timeline timeline;  ///< spans[stage][place in the stage's list]
  std::vector<int> peakLive; ///< per stage: most micro-batches (times chunks) between the start of F and the end of the backward
};

/// A forward waits for the forward of the previous chunk of the chain plus `transfer`, a backward for that of the next, W for its B. There
/// is no transfer inside a stage. Chunk c of stage s is place c * stages + s of the chain.
Simulation simulate(const TaskLists &lists, const std::vector<StageCost> &costs, double transfer = 0);

} // namespace npar::schedules
