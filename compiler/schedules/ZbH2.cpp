// ZB-H2: fills the start of the pipeline with more forwards and its end with W, for twice the memory of 1F1B (Qi et al. 2023, "Zero Bubble
// Pipeline Parallelism", figure 3).
//
//   zb_h2, 4 stages, 7 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 F5 F6 B0 W0 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5 B6 W6 .. .. ..
//   stage 1  .. F0 F1 F2 F3 F4 B0 F5 B1 F6 B2 W0 B3 W1 B4 W2 B5 W3 B6 W4 W5 W6 .. ..
//   stage 2  .. .. F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 W0 B5 W1 B6 W2 W3 W4 W5 W6 ..
//   stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 W0 W1 W2 W3 W4 W5 W6
//
// Stage s holds 2 (p - s) - 1 micro-batches between F and B, and 2 s between B and W. For F = B = W and m >= 2p - 1 no stage waits once it
// has started: the bubble is (p - 1) (F + B - 2 W) = 0. The stages start and end one after the other, so the makespan of a single step
// still has the p - 1 forwards before the last stage starts.
#include "compiler/schedules/Build.h"

namespace npar::schedules {

Made zbH2(const Request &request) {
  int stages = request.stages;
  TaskLists lists;
  for (int stage = 0; stage < stages; ++stage)
    lists.push_back(delayWeights(request.micros, 2 * (stages - stage) - 1, 2 * stage));
  return {{"zb_h2", request.micros, 1, loopPlacement(stages, 1), lists}, ""};
}

Estimate estimateZbH2(const Request &request) {
  double stages = request.stages;
  return {2 * stages - 1, fillingWaits(2 * stages - 1, request.micros)};
}

} // namespace npar::schedules
