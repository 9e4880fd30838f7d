// Interleaved 1F1B: v chunks per stage, laid around the stages v times, so that the pipeline fills v times as fast (Narayanan et al. 2021,
// "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", figure 4 bottom and section 2.2).
//
//   interleaved, 3 stages, 6 micro-batches, a backward as long as a forward:
//
//   stage 0  F0 F1 F2 f0 f1 f2 F3 F4 b0 F5 b1 .. f3 b2 f4 B0 f5 B1 B2 .. b3 .. b4 .. b5 B3 B4 B5
//   stage 1  .. F0 F1 F2 f0 f1 f2 b0 F3 b1 F4 b2 F5 B0 f3 B1 f4 B2 f5 b3 .. b4 .. b5 B3 B4 B5 ..
//   stage 2  .. .. F0 F1 F2 f0 b0 f1 b1 f2 b2 F3 B0 F4 B1 F5 B2 f3 b3 f4 b4 f5 b5 B3 B4 B5 .. ..
//
// Micro-batches go in groups of p: a group passes chunk 0 of all stages, then chunk 1, and so on; backwards the other way round. Stage s
// starts with 2 (p - s - 1) + (v - 1) p forwards, then takes one forward and one backward in turn. With p dividing m the bubble is
// (p - 1) (F + B) / v, and stage 0 holds p + (p - 1) / v micro-batches (m if that is less), by the same rule for one chunk, where 1f1b does
// with p. Other m: the schedule of the next multiple of p without the micro-batches that are not there.
#include "compiler/schedules/Build.h"

#include <algorithm>

namespace npar::schedules {

Made interleaved(const Request &request) {
  int stages = request.stages, chunks = request.chunks;
  int micros = (request.micros + stages - 1) / stages * stages, count = micros * chunks;
  auto task = [&](Phase phase, int index) {
    int group = index / (stages * chunks), chunk = index / stages % chunks;
    return Task{phase, group * stages + index % stages, phase == Phase::F ? chunk : chunks - 1 - chunk};
  };
  Schedule schedule{"interleaved", micros, chunks, loopPlacement(stages, chunks), TaskLists(stages)};
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<Task> &tasks = schedule.lists[stage];
    int warmup = std::min(2 * (stages - stage - 1) + (chunks - 1) * stages, count);
    for (int index = 0; index < warmup; ++index)
      tasks.push_back(task(Phase::F, index));
    for (int index = 0; index < count; ++index) {
      if (warmup + index < count)
        tasks.push_back(task(Phase::F, warmup + index));
      tasks.push_back(task(Phase::B, index));
    }
  }
  return {keepFirst(schedule, request.micros), ""};
}

Estimate estimateInterleaved(const Request &request) {
  double before = static_cast<double>(request.stages - 1) / request.chunks;
  return {request.stages + (request.chunks > 1 ? before : 0), before};
}

} // namespace npar::schedules
