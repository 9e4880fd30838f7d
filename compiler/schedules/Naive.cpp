// Naive: one micro-batch at a time through all stages and back, as a model that is only placed on several devices runs (Huang et al. 2019,
// "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", figure 2b).
//
//   naive, 4 stages, 2 micro-batches, a backward as long as a forward:
//
//   stage 0  F0 .. .. .. .. .. .. B0 F1 .. .. .. .. .. .. B1
//   stage 1  .. F0 .. .. .. .. B0 .. .. F1 .. .. .. .. B1 ..
//   stage 2  .. .. F0 .. .. B0 .. .. .. .. F1 .. .. B1 .. ..
//   stage 3  .. .. .. F0 B0 .. .. .. .. .. .. F1 B1 .. .. ..
//
// One stage works at a time: the makespan is m p (F + B), whatever the number of stages saves in memory. Every stage holds one micro-batch.
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

Made naive(const Request &request) {
  std::vector<Task> tasks;
  for (int micro = 0; micro < request.micros; ++micro)
    for (Phase phase : {Phase::F, Phase::B})
      tasks.push_back({phase, micro});
  return {{"naive", request.micros, 1, loopPlacement(request.stages, 1), TaskLists(request.stages, tasks)}, ""};
}

Estimate estimateNaive(const Request &request) { return {1.0, static_cast<double>((request.stages - 1) * request.micros)}; }

} // namespace npar::schedules
