// DualPipeV: DualPipe's two directions folded into a V of two chunks per stage; most backwards are whole, and W is split off only where a
// stage would wait (DeepSeek-AI 2025, repository DualPipe; Qi et al. 2025, "DualPipe could be better without the Dual").
//
//   dualpipe_v, 3 stages, 6 micro-batches, F, B and W alike:
//
//   stage 0  F0 F1 F2 F3 F4 f0 b0 w0 f1 b1 w1 f2 F5 b2 -- f3 B0 -- b3 -- f4 .. B1 -- b4 -- f5 .. B2 -- b5 -- B3 W3 B4 W4 B5 W5
//   stage 1  .. F0 F1 F2 f0 F3 f1 b0 w0 f2 F4 b1 -- f3 B0 -- F5 b2 -- f4 B1 -- b3 -- f5 .. B2 -- b4 -- B3 -- b5 B4 w5 B5 W4 W5
//   stage 2  .. .. F0 f0 F1 f1 F2 f2 F3 b0 -- f3 B0 -- F4 b1 -- f4 B1 -- F5 b2 -- f5 B2 -- b3 -- B3 -- b4 -- B4 b5 B5 W4 w5 W5
//
// The steady state runs a forward of one chunk and a backward of the other at the same time (`Task::overlaps`), so that the collectives of
// one run while the other computes; the list has them next to each other, F before B. The bubble is at most (p - 1) (F + 2 B - W) / 2 with
// B the input part: the published (PP/2 - 1) (F&B + B - 3 W) with PP = 2p, F&B = F + B and B the whole. Each stage holds at most p + 1/2
// micro-batches. It needs m >= 2p, because every stage starts with forwards of 2p micro-batches before the steady state.
#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

namespace {

/// The list of a stage, which counts the tasks of each kind as they come. W that were split off wait in one queue for both chunks.
class Stage {
public:
  void forward(int chunk) { tasks.push_back({Phase::F, forwards[chunk]++, chunk}); }
  void backward(int chunk) { tasks.push_back({Phase::B, backwards[chunk]++, chunk}); }
  /// A forward of one chunk and a backward of the other at the same time.
  void both(int forwardChunk) {
    forward(forwardChunk);
    backward(1 - forwardChunk);
    tasks.back().overlaps = true;
  }
  void split(int chunk) {
    waiting.push_back({Phase::W, backwards[chunk], chunk});
    backward(chunk);
  }
  void weight() { tasks.push_back(waiting[weights++]); }
  bool hasWeight() const { return weights < waiting.size(); }

  std::vector<Task> tasks;

private:
  int forwards[2] = {0, 0}, backwards[2] = {0, 0};
  std::vector<Task> waiting;
  size_t weights = 0;
};

} // namespace

Made dualPipeV(const Request &request) {
  int stages = request.stages, micros = request.micros;
  Schedule schedule{"dualpipe_v", micros, 2, vPlacement(stages), {}};
  for (int s = 0; s < stages; ++s) {
    Stage stage;
    int after = stages - s - 1;
    for (int i = 0; i < 2 * after; ++i)
      stage.forward(0);
    for (int i = 0; i < s + 1; ++i) {
      stage.forward(0);
      stage.forward(1);
    }
    for (int i = 0; i < after; ++i) {
      stage.split(1);
      stage.weight();
      stage.forward(1);
    }
    for (int i = 0; i < micros - 2 * stages + s + 1; ++i) {
      stage.both(0);
      stage.both(1);
    }
    for (int i = 0; i < after; ++i) {
      stage.backward(1);
      stage.both(1);
    }
    // The drain: from its middle on backwards are split, as the gradient is what the stage before waits for.
    for (int i = 0; i < 2 * (s + 1); ++i)
      if (i < s + 1)
        i % 2 == 0 ? stage.backward(1) : stage.backward(0);
      else
        i % 2 == 0 ? stage.split(1) : stage.split(0);
    for (int i = 0; i < after; ++i) {
      stage.weight();
      stage.split(0);
    }
    while (stage.hasWeight())
      stage.weight();
    schedule.lists.push_back(stage.tasks);
  }
  return {schedule, ""};
}

Estimate estimateDualPipeV(const Request &request) {
  double stages = request.stages;
  return {stages + 0.5, (stages - 1) / 3};
}

} // namespace npar::schedules
