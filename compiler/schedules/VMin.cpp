// V-Min: two chunks per stage, down the stages and back, with a third of the memory of 1F1B and about two thirds of its bubble (Qi et al.
// 2024, "Pipeline Parallelism with Controllable Memory", section 3).
//
//   v_min, 4 stages, 4 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 .. .. .. .. .. f0 b0 F2 w0 .. .. f1 b1 B0 w1 F3 W0 f2 b2 B1 w2 W1 .. f3 b3 B2 w3 W2 .. .. .. B3 W3
//   stage 1  .. F0 .. .. .. .. f0 F1 .. b0 w0 .. f1 F2 B0 b1 W0 w1 f2 F3 B1 b2 W1 w2 f3 .. B2 b3 W2 w3 .. .. B3 W3 ..
//   stage 2  .. .. F0 .. .. f0 .. .. F1 .. b0 f1 w0 B0 F2 W0 b1 f2 w1 B1 F3 W1 b2 f3 w2 B2 W2 .. b3 w3 .. B3 W3 .. ..
//   stage 3  .. .. .. F0 f0 .. .. .. .. F1 f1 b0 B0 w0 W0 F2 f2 b1 B1 w1 W1 F3 f3 b2 B2 w2 W2 .. .. b3 B3 w3 W3 .. ..
//
// The hops of the building block are as short as they can be, one task each: 4 per stage. Every stage holds at most (p + 4) / 3
// micro-batches, rounded down; for F = B = W the bubble is at most 2 (p - 1) (F + B + W) / 3 + F / 2 (the last where 3 divides p: there the
// block waits two tasks at the turn of stage 0).
#include "compiler/schedules/VShape.h"

namespace npar::schedules {

Made vMin(const Request &request) { return {vBlockWithWeights(request, "v_min", {1, 1, 1, 1}, (request.stages + 4) / 3), ""}; }

Estimate estimateVMin(const Request &request) {
  double stages = request.stages;
  return {(stages + 4) / 3, 2 * (stages - 1) / 3};
}

} // namespace npar::schedules
