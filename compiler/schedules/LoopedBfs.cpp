// Looped breadth-first: v chunks per stage, laid around the stages v times; each chunk runs all micro-batches before the next chunk starts,
// so that what belongs to a chunk's weights (gathering them, reducing their gradients) happens once per step (Lamy-Poirier 2022,
// "Breadth-First Pipeline Parallelism", figure 4d).
//
//   looped_bfs, 3 stages, 4 micro-batches, a backward as long as a forward:
//
//   stage 0  F0 F1 F2 F3 f0 f1 f2 f3 .. .. .. .. b0 b1 b2 b3 B0 B1 B2 B3
//   stage 1  .. F0 F1 F2 F3 f0 f1 f2 f3 .. .. b0 b1 b2 b3 B0 B1 B2 B3 ..
//   stage 2  .. .. F0 F1 F2 F3 f0 f1 f2 f3 b0 b1 b2 b3 B0 B1 B2 B3 .. ..
//
// The bubble is (p - 1) (F + B) / v for m >= p; every stage holds all m micro-batches. As in gpipe the backwards of a chunk ascend
// (RULES.md#N2).
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

Made loopedBfs(const Request &request) {
  int chunks = request.chunks;
  std::vector<Task> tasks;
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int micro = 0; micro < request.micros; ++micro)
      tasks.push_back({Phase::F, micro, chunk});
  for (int chunk = chunks - 1; chunk >= 0; --chunk)
    for (int micro = 0; micro < request.micros; ++micro)
      tasks.push_back({Phase::B, micro, chunk});
  return {{"looped_bfs", request.micros, chunks, loopPlacement(request.stages, chunks), TaskLists(request.stages, tasks)}, ""};
}

Estimate estimateLoopedBfs(const Request &request) {
  return {static_cast<double>(request.micros), static_cast<double>(request.stages - 1) / request.chunks};
}

} // namespace npar::schedules
