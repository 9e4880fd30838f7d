// Simulates the tasks of a schedule: their times, given the costs of the stages, and the activations that the stages hold meanwhile.
#pragma once

#include "compiler/cost/Timeline.h"
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

struct Simulation {
  cost::Timeline timeline; ///< spans[stage][place in the stage's list]
  std::vector<double>
      peakLive; ///< per stage: most forward activations between the start of F and the end of the backward; a chunk's is 1/chunks
  /// Max over the stages of the time between the start of the stage's first F and the end of its last task: what a step costs when the
  /// next one may begin on a stage while others still finish (Qi et al. 2023, section 4).
  double cost = 0;
  /// (cost - m (F + B + W)) / cost, F + B + W being those of the slowest stage: the share of the cost that is not work.
  double bubbleRate = 0;
};

/// A forward waits for the forward of the part before it in the chain, a backward for that of the part after it, plus `transfer` where
/// the two parts are on different stages; W waits for its B. `costs` has one entry per stage. The times are in the unit of the costs.
Simulation simulate(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer = 0);

/// Memory of the activations of a whole stage (each chunk has 1/chunks of it), in bytes or any unit: from the start of F to the end of B,
/// and from there to the end of W if the backward is split ("M_B" and "M_W" of Qi et al. 2023).
struct StageMemory {
  double backward = 1, weight = 1;
};

/// The most memory that each stage holds at once. `memory` has one entry per stage.
std::vector<double> peakMemory(const Schedule &schedule, const std::vector<StageMemory> &memory);

} // namespace npar::schedules
