// 1F1B: a backward as soon as there is one, so that early stages hold few micro-batches (Narayanan et al. 2021, "Efficient Large-Scale
// Language Model Training on GPU Clusters Using Megatron-LM", figure 4 top; there "PipeDream-Flush").
//
//   1f1b, 4 stages, 6 micro-batches, a backward as long as a forward:
//
//   stage 0  F0 F1 F2 F3 .. .. .. B0 F4 B1 F5 B2 .. B3 .. B4 .. B5
//   stage 1  .. F0 F1 F2 .. .. B0 F3 B1 F4 B2 F5 B3 .. B4 .. B5 ..
//   stage 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 F4 B3 F5 B4 .. B5 .. ..
//   stage 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 .. .. ..
//
// Stage s starts with p - s - 1 forwards, then takes one forward and one backward in turn: it holds at most min(p - s, m) micro-batches.
// The makespan is that of GPipe.
#include "compiler/schedules/Schedule.h"

#include <algorithm>

namespace npar::schedules {

Made oneFOneB(const Request &request) {
  int stages = request.stages, micros = request.micros;
  TaskLists lists(stages);
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<Task> &tasks = lists[stage];
    int warmup = std::min(stages - stage - 1, micros);
    for (int micro = 0; micro < warmup; ++micro)
      tasks.push_back({Phase::F, micro});
    for (int micro = 0; micro < micros; ++micro) {
      if (warmup + micro < micros)
        tasks.push_back({Phase::F, warmup + micro});
      tasks.push_back({Phase::B, micro});
    }
  }
  return {{"1f1b", micros, 1, loopPlacement(stages, 1), lists}, ""};
}

Estimate estimateOneFOneB(const Request &request) { return {static_cast<double>(request.stages), static_cast<double>(request.stages - 1)}; }

} // namespace npar::schedules
