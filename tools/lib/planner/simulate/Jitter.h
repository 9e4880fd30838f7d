// Training steps in which each rank computes a little longer or shorter than planned, by chance.
//
// A rank's computing of a step takes X times as long, where X is lognormal with mean 1. All of its program steps have the same X, because
// the causes that slow a device (clocks, other processes, its neighbours) last longer than a program step. Ranks are independent. The
// common steps of a class take as long as for the slowest of its ranks, so a class is simulated at the largest of its ranks' X, which is
// drawn at once: P(max <= x) = P(X <= x)^ranks. Where a class's ranks meet only at the end of a step, as replicas do, that is an upper
// bound.
#pragma once

#include "compiler/cost/Simulation.h"
#include "engine/status/Observer.h"
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

/// Statistics over `samples` steps; a sample depends on the seed and its number alone. `observer` hears of the samples that this thread
/// simulates; Stopped if it wants to stop before all are done.
engine::Result<JitterResult> sampleJitter(const program::Program &program, const cost::Machine &machine, const cost::Topology &topology,
                                          const Disturbance &disturbance, const Jitter &jitter, engine::Observer &observer);

/// The quantile `chance`, in (0, 1), of the largest X of `ranks` ranks.
double slowestOf(int64_t ranks, double deviation, double chance);

} // namespace npar::planner
