// ZB-H1: 1F1B with the backward split, so that W fills the drain and gradients reach the stage before sooner (Qi et al. 2023, "Zero Bubble
// Pipeline Parallelism", figure 2).
//
//   zb_h1, 4 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 .. .. .. B0 W0 F4 B1 W1 F5 B2 W2 B3 W3 B4 W4 B5 W5
//   stage 1  .. F0 F1 F2 .. .. B0 F3 B1 W0 F4 B2 W1 F5 B3 W2 B4 W3 B5 W4 W5
//   stage 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 W0 F4 B3 W1 F5 B4 W2 B5 W3 W4 W5
//   stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 W3 W4 W5
//
// Stage s holds what 1F1B does on stage 0, but spends it on waiting W: p - s micro-batches between F and B, s between B and W, as W comes s
// micro-batches late. The bubble is (p - 1) (F + B - W) for F = B = W: a third of that of 1F1B.
#include "compiler/schedules/Build.h"

#include <algorithm>

namespace npar::schedules {

Made zbH1(const Request &request) {
  int stages = request.stages;
  TaskLists lists;
  for (int stage = 0; stage < stages; ++stage)
    lists.push_back(delayWeights(request.micros, stages - stage, stage));
  return {{"zb_h1", request.micros, 1, loopPlacement(stages, 1), lists}, ""};
}

Estimate estimateZbH1(const Request &request) {
  double stages = request.stages;
  return {stages, std::max((stages - 1) / 3, fillingWaits(2 * stages - 1, request.micros))};
}

} // namespace npar::schedules
