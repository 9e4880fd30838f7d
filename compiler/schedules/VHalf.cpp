// V-Half: two chunks per stage, down the stages and back, with half the memory of 1F1B and about half its bubble (Qi et al. 2024, "Pipeline
// Parallelism with Controllable Memory", section 3).
//
//   v_half, 3 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 .. .. .. f0 b0 F2 w0 f1 b1 w1 B0 F3 W0 f2 b2 w2 B1 F4 W1 f3 b3 w3 B2 F5 W2 f4 b4 w4 B3 W3 .. f5 b5 B4 w5 W4 .. B5 W5
//   stage 1  .. F0 .. .. f0 F1 .. b0 f1 w0 F2 B0 b1 W0 f2 w1 F3 B1 b2 W1 f3 w2 F4 B2 b3 W2 f4 w3 F5 B3 b4 W3 f5 w4 B4 b5 W4 w5 B5 W5 ..
//   stage 2  .. .. F0 f0 .. .. F1 f1 b0 B0 w0 F2 W0 f2 b1 B1 w1 F3 W1 f3 b2 B2 w2 F4 W2 f4 b3 B3 w3 F5 W3 f5 b4 B4 w4 W4 b5 B5 w5 W5 ..
//
// The hops of the building block add up to 6 tasks per stage. Every stage holds at most (p + 2) / 2 micro-batches, rounded down; for
// F = B = W the bubble is at most (p - 1) (F + B + W) / 2.
#include "compiler/schedules/VShape.h"

namespace npar::schedules {

Made vHalf(const Request &request) { return {vBlockWithWeights(request, "v_half", {2, 1, 2, 1}, (request.stages + 2) / 2), ""}; }

Estimate estimateVHalf(const Request &request) {
  double stages = request.stages;
  return {(stages + 2) / 2, (stages - 1) / 2};
}

} // namespace npar::schedules
