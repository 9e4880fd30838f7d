// Live bytes over time: a value lives from its write to its last read, in place or in another task, and the peak names what makes it.
#include "engine/show/View.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>

using namespace npar::program;
using namespace npar::show;

namespace {

/// Forward: writes "kept" to the stash and "passing" to scratch, then reads "passing" and writes "late" to the stash. Backward reads the
/// stash. Two micro-batches, F F B B, a second each, on two slots.
ProgramT keeper() {
  ProgramT program = emptyProgram({}, 2);
  program.kernels.push_back(std::make_unique<KernelT>());
  RankClassT &one = addClass(program, "stage0", {});
  uint32_t scratch = addRegion(one, "scratch", 64, 1), stash = addRegion(one, "stash", 192, 2);
  uint32_t forward = addFragment(one, "F0", Phase::Forward), backward = addFragment(one, "B0", Phase::Backward);
  addStep(program, one, forward, StepKind::Kernel, 0, {}, {{stash, 0, 64}, {scratch, 0, 64}}, {}, "kept");
  addStep(program, one, forward, StepKind::Kernel, 0, {{scratch, 0, 64}}, {{stash, 64, 128}}, {0}, "late");
  addStep(program, one, backward, StepKind::Kernel, 0, {{stash, 64, 128}}, {{scratch, 0, 64}}, {}, "first");
  addStep(program, one, backward, StepKind::Kernel, 0, {{stash, 0, 64}, {scratch, 0, 64}}, {{scratch, 0, 64}}, {0}, "second");
  addTask(one, forward, 0);
  addTask(one, forward, 1, {{stash, 1}});
  addTask(one, backward, 0);
  addTask(one, backward, 1, {{stash, 1}});
  shareTimes(program);
  return program;
}

/// Live bytes of a kind at a time, summed from the tasks' patterns.
int64_t liveAt(const ClassView &one, double at, MemoryKind kind) {
  int64_t live = static_cast<int64_t>(one.memory.always[size_t(kind)] + one.memory.atStart[size_t(kind)]);
  for (const ViewTask &task : one.tasks)
    for (const MemoryChange &change : one.memory.patterns[task.pattern])
      if (change.kind == kind && task.begin + change.at <= at)
        live += change.bytes;
  return live;
}

} // namespace

TEST(LiveMemory, LastsFromTheWriteToTheLastRead) {
  Packed packed(keeper());
  View view = viewOf(packed.root());
  const ClassView &one = view.classes[0];
  // F0:0 0-1, F0:1 1-2, B0:0 2-3, B0:1 3-4; "late" is written at half of a forward and read in the first half of a backward.
  for (auto [at, stash] :
       {std::pair{0.25, 64}, {0.75, 192}, {1.25, 256}, {1.75, 384}, {2.25, 384}, {2.75, 256}, {3.25, 192}, {3.75, 64}, {4.1, 0}})
    EXPECT_EQ(liveAt(one, at, MemoryKind::Stash), stash) << at;
  EXPECT_EQ(liveAt(one, 0.75, MemoryKind::Scratch), 64);
  EXPECT_EQ(liveAt(one, 4.1, MemoryKind::Scratch), 0);
}

TEST(LiveMemory, ThePeakIsTheSumOfItsTensors) {
  Packed packed(keeper());
  View view = viewOf(packed.root());
  const ClassMemory &memory = view.classes[0].memory;
  EXPECT_EQ(memory.peakBytes, 2u * 192 + 64);
  EXPECT_DOUBLE_EQ(memory.peakAt, 1.5);
  uint64_t sum = 0;
  for (const PeakTensor &tensor : memory.peak)
    sum += tensor.bytes;
  EXPECT_EQ(sum, memory.peakBytes);
  ASSERT_GE(memory.peak.size(), 3u);
  EXPECT_EQ(memory.peak[0].name, "late");
  EXPECT_EQ(memory.peak[0].bytes, 256u);
  EXPECT_EQ(memory.peak[0].count, 2u);
}

TEST(LiveMemory, EqualTasksShareAPattern) {
  Packed packed(keeper());
  View view = viewOf(packed.root());
  const ClassView &one = view.classes[0];
  EXPECT_EQ(one.tasks[0].pattern, one.tasks[1].pattern);
  EXPECT_EQ(one.tasks[2].pattern, one.tasks[3].pattern);
  EXPECT_NE(one.tasks[0].pattern, one.tasks[2].pattern);
}

// A value without a reader lives as long as its step.
TEST(LiveMemory, KnowsWhatNoOneReads) {
  ProgramT program = emptyProgram({}, 1);
  program.matmuls.push_back(std::make_unique<MatmulT>());
  RankClassT &one = addClass(program, "stage0", {});
  uint32_t scratch = addRegion(one, "scratch", 128, 1), input = addRegion(one, "input", 64, 1),
           forward = addFragment(one, "F0", Phase::Forward);
  addStep(program, one, forward, StepKind::Matmul, 0, {{input, 0, 64}, {input, 0, 64}}, {{scratch, 0, 64}}, {}, "product");
  addStep(program, one, forward, StepKind::Zero, 0, {}, {{scratch, 64, 64}}, {}, "unread");
  addTask(one, forward, 0);
  shareTimes(program);
  Packed packed(program);
  View view = viewOf(packed.root());
  const ClassView &only = view.classes[0];
  EXPECT_EQ(liveAt(only, 0.25, MemoryKind::Inputs), 64); // there at the start
  EXPECT_EQ(liveAt(only, 0.25, MemoryKind::Scratch), 64);
  EXPECT_EQ(liveAt(only, 0.75, MemoryKind::Inputs), 0);
  EXPECT_EQ(liveAt(only, 0.75, MemoryKind::Scratch), 64); // "unread" during its step, the product no more
  EXPECT_EQ(only.memory.peakBytes, 128u);
}

// Planned messages may outlast the next use of their box; then the box still counts once.
TEST(LiveMemory, NeverExceedsTheArena) {
  ProgramT program = timedStages();
  for (auto &rankClass : program.classes)
    for (auto &fragment : rankClass->fragments)
      for (Step &step : fragment->steps)
        if (step.kind() == StepKind::Send)
          step.mutate_end(5);
  Packed packed(program);
  View view = viewOf(packed.root());
  for (const ClassView &one : view.classes) {
    EXPECT_LE(one.memory.peakBytes, one.arenaBytes);
    EXPECT_GT(one.memory.peakBytes, 0u);
  }
}
