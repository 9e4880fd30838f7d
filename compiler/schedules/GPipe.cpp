// GPipe: all forwards, then all backwards (Huang et al. 2019, "GPipe: Efficient Training of Giant Neural Networks using Pipeline
// Parallelism", figure 2c).
//
//   gpipe, 4 stages, 4 micro-batches, a backward as long as a forward:
//
//   stage 0  F0 F1 F2 F3 .. .. .. .. .. .. B0 B1 B2 B3
//   stage 1  .. F0 F1 F2 F3 .. .. .. .. B0 B1 B2 B3 ..
//   stage 2  .. .. F0 F1 F2 F3 .. .. B0 B1 B2 B3 .. ..
//   stage 3  .. .. .. F0 F1 F2 F3 B0 B1 B2 B3 .. .. ..
//
// The paper runs the backwards in reverse; here they run in ascending order, so that gradients accumulate in the same order under every
// schedule (RULES.md#N2). Makespan and bubble are the same, (m + p - 1) (F + B); every stage holds m micro-batches.
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

Made gpipe(const Request &request) {
  std::vector<Task> tasks;
  for (Phase phase : {Phase::F, Phase::B})
    for (int micro = 0; micro < request.micros; ++micro)
      tasks.push_back({phase, micro});
  return {{"gpipe", request.micros, 1, loopPlacement(request.stages, 1), TaskLists(request.stages, tasks)}, ""};
}

Estimate estimateGPipe(const Request &request) { return {static_cast<double>(request.micros), static_cast<double>(request.stages - 1)}; }

} // namespace npar::schedules
