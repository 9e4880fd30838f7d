// ZB-V: two chunks per stage, down the stages and back, with the memory of 1F1B and no bubble (Qi et al. 2023, "Zero Bubble Pipeline
// Parallelism", section 6; "V-ZB" in Qi et al. 2024, "Pipeline Parallelism with Controllable Memory").
//
//   zb_v, 3 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 f0 b0 w0 f1 b1 w1 f2 b2 w2 F5 B0 W0 f3 b3 w3 B1 W1 f4 b4 w4 B2 W2 f5 b5 w5 B3 W3 B4 W4 B5 W5 .. ..
//   stage 1  .. F0 F1 F2 f0 F3 f1 b0 w0 f2 b1 w1 F4 B0 W0 f3 b2 w2 F5 B1 W1 f4 b3 w3 B2 W2 f5 b4 w4 B3 b5 B4 W3 B5 W4 w5 W5 ..
//   stage 2  .. .. F0 f0 F1 f1 F2 f2 b0 w0 F3 B0 W0 f3 b1 w1 F4 B1 W1 f4 b2 w2 F5 B2 W2 f5 b3 w3 B3 b4 B4 b5 B5 W3 w4 w5 W4 W5
//
// The first and the last part of the chain are both on stage 0, so a micro-batch turns round there without a message. All stages start
// with the same number of tasks: stage s with 2 (p - s) - 1 forwards of chunk 0, then s pairs of forwards of both chunks, then p - s times
// the whole of chunk 1. For F = B = W and m >= 2p - 1 the only idle time of a stage is before its first and behind its last task. Every
// stage holds at most p micro-batches, 2p of their chunks.
#include "compiler/schedules/Build.h"

#include <algorithm>

namespace npar::schedules {

namespace {

/// The list of a stage, which counts the tasks of each kind as they come.
class Stage {
public:
  void forward(int chunk) { tasks.push_back({Phase::F, forwards[chunk]++, chunk}); }
  void backward(int chunk) { tasks.push_back({Phase::B, backwards[chunk]++, chunk}); }
  void weight(int chunk) { tasks.push_back({Phase::W, weights[chunk]++, chunk}); }

  std::vector<Task> tasks;
  int forwards[2] = {0, 0}, backwards[2] = {0, 0}, weights[2] = {0, 0};
};

} // namespace

Made zbV(const Request &request) {
  int stages = request.stages, micros = std::max(request.micros, 2 * stages - 1);
  Schedule schedule{"zb_v", micros, 2, vPlacement(stages), {}};
  for (int s = 0; s < stages; ++s) {
    Stage stage;
    for (int i = 0; i < 2 * (stages - s) - 1; ++i)
      stage.forward(0);
    for (int i = 0; i < s; ++i) {
      stage.forward(1);
      stage.forward(0);
    }
    for (int i = 0; i < stages - s; ++i) {
      stage.forward(1);
      stage.backward(1);
      stage.weight(1);
    }
    while (stage.forwards[1] < micros) {
      if (stage.forwards[0] < micros)
        stage.forward(0);
      stage.backward(0);
      stage.weight(0);
      stage.forward(1);
      stage.backward(1);
      stage.weight(1);
    }
    for (int i = 0; i < s; ++i) {
      stage.backward(0);
      stage.backward(1);
    }
    for (int i = 0; i < stages - s; ++i) {
      stage.backward(0);
      stage.weight(0);
    }
    for (int chunk : {1, 0})
      while (stage.weights[chunk] < micros)
        stage.weight(chunk);
    schedule.lists.push_back(stage.tasks);
  }
  return {keepFirst(schedule, request.micros), ""};
}

} // namespace npar::schedules
