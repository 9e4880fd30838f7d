// Backward first: a free stage takes a backward if one is ready, otherwise a forward. The number of forwards at the start is not fixed
// (Karakus et al. 2021, "Amazon SageMaker Model Parallelism: A General and Flexible Framework for Large Model Training", and the
// documentation of that library, which calls this the interleaved pipeline).
//
//   backward_first, 3 stages, 8 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 F5 F6 B0 -- F7 B1 -- .. B2 -- .. B3 -- .. B4 -- .. B5 -- .. B6 -- .. B7 --
//   stage 1  .. F0 F1 F2 F3 B0 -- F4 B1 -- F5 B2 -- F6 B3 -- F7 B4 -- .. B5 -- .. B6 -- .. B7 -- .. ..
//   stage 2  .. .. F0 B0 -- F1 B1 -- F2 B2 -- F3 B3 -- F4 B4 -- F5 B5 -- F6 B6 -- F7 B7 -- .. .. .. ..
//
// The order is that of a run with the given costs, so it depends on them. A stage continues with forwards until its first gradient arrives:
// it holds as many as it can start in (p - s) F + (p - s - 1) (B + W) plus the messages on that way, which here is 3 (p - s) - 2
// micro-batches or all. A memory cap (that library's "active micro-batches") limits this number; here a cap of p or more costs no time.
// With several chunks, the backward of the lowest one and the forward of the highest one go first. Backwards are not split.
#include "compiler/schedules/GreedyOrder.h"

#include <algorithm>
#include <limits>

namespace npar::schedules {

Made backwardFirst(const Request &request) {
  const double cap = request.memoryCap > 0 ? std::min<double>(request.memoryCap, request.micros) : request.micros;
  std::vector<StageCost> whole = request.costs; // the weight part is over when the input part is
  for (StageCost &cost : whole)
    cost = {cost.forward, cost.backward + cost.weight, 0};
  Schedule schedule = greedyOrder(loopPlacement(request.stages, request.chunks), request.chunks, request.micros, whole, request.transfer,
                                  {static_cast<int>(cap * request.chunks + 1e-9), std::numeric_limits<double>::infinity(), false});
  schedule.kind = "backward_first";
  return {std::move(schedule), ""};
}

Estimate estimateBackwardFirst(const Request &request) {
  double stages = request.stages, waits = (stages - 1) / std::max(1, request.chunks), cap = request.memoryCap;
  if (cap > 0) // assume the bubble of the named schedules that hold as much
    return {cap, (stages - 1) * (1 + std::max(0.0, 1 - cap / stages))};
  return {3 * stages - 2, waits};
}

} // namespace npar::schedules
