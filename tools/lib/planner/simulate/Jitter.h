// Training steps in which each rank computes a little longer or shorter than planned, by chance.
//
// A rank's computing of a step takes X times as long, X lognormal of mean 1: all of its program steps alike, for what slows a device
// (clocks, other processes, its neighbours) lasts longer than a program step. Ranks are independent. What ranks of a class do together
// takes as long as the slowest of them, so that a class is simulated at the largest of its ranks' X, which is drawn at once: P(max <= x) =
// P(X <= x)^ranks. Where a class's ranks meet only at the end of a step, as replicas do, that is an upper bound.
#pragma once

#include "compiler/cost/Simulation.h"
#include "tools/lib/planner/simulate/Disturbance.h"

#include <cstdint>
#include <vector>

namespace npar::planner {

struct Jitter {
  double deviation = 0; ///< standard deviation of X, above 0
  uint64_t seed = 0;
  int64_t samples = 100; ///< training steps that are simulated, at least 1
};

struct JitterResult {
  double mean = 0, p50 = 0, p95 = 0; ///< of the step's seconds; percentiles by nearest rank
};

/// Seconds of so many steps; which one a sample is depends on the seed and its number alone.
engine::Result<JitterResult> sampleJitter(const program::Program &program, const cost::Machine &machine, const cost::Topology &topology,
                                          const Disturbance &disturbance, const Jitter &jitter);

/// The largest of so many ranks' X, of which a share of `chance` in (0, 1) is below.
double slowestOf(int64_t ranks, double deviation, double chance);

} // namespace npar::planner
