// When the tasks of a schedule run, given the costs of the stages.
#pragma once

#include "compiler/cost/Timeline.h"
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

struct Simulation {
  cost::Timeline timeline; ///< spans[stage][place in the stage's list]
  std::vector<double>
      peakLive; ///< per stage: most forward activations between the start of F and the end of the backward; a chunk's is 1/chunks
};

/// A forward waits for the forward of the part before it in the chain, a backward for that of the part behind it, plus `transfer` where
/// the two parts are on different stages; W waits for its B. `costs` has one entry per stage.
Simulation simulate(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer = 0);

} // namespace npar::schedules
