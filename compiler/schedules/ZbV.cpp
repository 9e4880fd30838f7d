// ZB-V: two chunks per stage, down the stages and back, with the memory of 1F1B and no bubble (Qi et al. 2023, "Zero Bubble Pipeline
// Parallelism", section 6; "V-ZB" in Qi et al. 2024, "Pipeline Parallelism with Controllable Memory").
//
//   zb_v, 3 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 f0 b0 w0 f1 b1 w1 f2 b2 w2 F5 B0 W0 f3 b3 w3 B1 W1 f4 b4 w4 B2 W2 f5 b5 B3 w5 B4 W3 B5 W4 W5 .. ..
//   stage 1  .. F0 F1 F2 f0 F3 f1 b0 w0 f2 b1 w1 F4 B0 W0 f3 b2 w2 F5 B1 W1 f4 b3 w3 B2 W2 f5 b4 B3 b5 B4 w4 B5 W3 w5 W4 W5 ..
//   stage 2  .. .. F0 f0 F1 f1 F2 f2 b0 w0 F3 B0 W0 f3 b1 w1 F4 B1 W1 f4 b2 w2 F5 B2 W2 f5 b3 B3 b4 B4 b5 B5 w3 W3 w4 W4 w5 W5
//
// The first and the last part of the chain are both on stage 0, so a micro-batch turns round there without a message. Stage s starts with
// 2 (p - s) - 1 forwards of chunk 0, then s pairs of forwards of both chunks, then p - s times F and B of chunk 1. For F = B = W and
// m >= 2p - 1 the only idle time of a stage is before its first and after its last task: the bubble is 0. Every stage holds at most p
// micro-batches, 2p of their chunks, and W waits as long as that allows.
#include "compiler/schedules/Build.h"
#include "compiler/schedules/FillWeights.h"
#include "compiler/schedules/VShape.h"

namespace npar::schedules {

Made zbV(const Request &request) {
  int stages = request.stages;
  Schedule schedule = vOrder(stages, request.micros, {});
  schedule.kind = "zb_v";
  schedule.lists = fillWeights(schedule, 2 * stages);
  return {schedule, ""};
}

Estimate estimateZbV(const Request &request) {
  double stages = request.stages;
  return {stages, fillingWaits(stages, request.micros)};
}

} // namespace npar::schedules
