// The expansion of programs into step graphs, and the virtual time that follows from it.
#include "engine/runtime/StepGraph.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/VirtualTimeline.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

StepGraph expand(const Program &program) {
  std::vector<LocalRank> ranks;
  for (int64_t rank = 0; rank < worldOf(program); ++rank)
    ranks.push_back({rank, DeviceAddress() + 4096});
  return expandProgram(program, ranks);
}

uint32_t nodeOf(const StepGraph &graph, uint32_t rank, uint32_t task, uint32_t step) {
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].rank == rank && graph.nodes[i].task == task && graph.nodes[i].step == step)
      return i;
  return noIndex;
}

bool hasEdge(const StepGraph &graph, uint32_t from, uint32_t to) {
  auto begin = graph.successors.begin() + graph.firstSuccessor[from], end = graph.successors.begin() + graph.firstSuccessor[from + 1];
  return std::find(begin, end, to) != end;
}

TEST(StepGraphTest, computeChainsTasksAndTransfersStandAside) {
  auto loaded = pipelineProgram({1, 2, 4, false, false})->load();
  ASSERT_TRUE(loaded);
  StepGraph graph = expand(loaded->root());
  // Rank 0 (stage 0): F0:0 = {scale, send}, F0:1, B0:0 = {recv, accumulate}, B0:1, U0.
  uint32_t scale0 = nodeOf(graph, 0, 0, 0), send0 = nodeOf(graph, 0, 0, 1), scale1 = nodeOf(graph, 0, 1, 0),
           receive0 = nodeOf(graph, 0, 2, 0), accumulate0 = nodeOf(graph, 0, 2, 1);
  EXPECT_TRUE(hasEdge(graph, scale0, send0));
  EXPECT_TRUE(hasEdge(graph, scale0, scale1)) << "the chain";
  EXPECT_FALSE(hasEdge(graph, send0, scale1)) << "a send delays no other step";
  EXPECT_EQ(graph.predecessorCount[receive0], 0u) << "a receive is posted as soon as its buffer is free";
  EXPECT_TRUE(hasEdge(graph, scale1, accumulate0));
  EXPECT_TRUE(hasEdge(graph, receive0, accumulate0));
}

/// A backward that overlaps the forward before it waits for what comes before both; the next backward waits for both.
TEST(StepGraphTest, tasksThatOverlapDoNotWaitForEachOther) {
  auto builder = pipelineProgram({1, 2, 4, false, false});
  builder->program.classes[0]->tasks[2].mutate_overlaps(1);
  auto loaded = builder->load();
  ASSERT_TRUE(loaded);
  StepGraph graph = expand(loaded->root());
  uint32_t scale0 = nodeOf(graph, 0, 0, 0), scale1 = nodeOf(graph, 0, 1, 0), accumulate0 = nodeOf(graph, 0, 2, 1),
           accumulate1 = nodeOf(graph, 0, 3, 1);
  EXPECT_TRUE(hasEdge(graph, scale0, scale1));
  EXPECT_TRUE(hasEdge(graph, scale0, accumulate0));
  EXPECT_FALSE(hasEdge(graph, scale1, accumulate0));
  EXPECT_TRUE(hasEdge(graph, scale1, accumulate1));
  EXPECT_TRUE(hasEdge(graph, accumulate0, accumulate1));
}

TEST(StepGraphTest, addressesFollowTheTasksSlots) {
  auto loaded = pipelineProgram({1, 2, 4, false, false})->load();
  StepGraph graph = expand(loaded->root());
  const StepNode &first = graph.nodes[nodeOf(graph, 0, 0, 0)], &second = graph.nodes[nodeOf(graph, 0, 1, 0)];
  auto address = [&](const StepNode &node, uint32_t i) {
    return reinterpret_cast<uintptr_t>(graph.buffers[node.firstBuffer + i].devicePointer());
  };
  EXPECT_EQ(address(first, 1), 4096u) << "the weight is in the static region";
  EXPECT_EQ(address(second, 1), 4096u);
  EXPECT_EQ(address(second, 2), address(first, 2) + 64) << "x has a slot per micro-batch";
}

TEST(StepGraphTest, chainsEndWhereSomethingElseWaitsOrTheWorkerLeaves) {
  // 0 -> 1 -> 2 -> {3, 4}, 3 -> 5, {4, 6} -> 7
  StepGraph graph;
  graph.nodes.resize(8);
  graph.firstSuccessor = {0, 1, 2, 4, 5, 6, 6, 7, 7};
  graph.successors = {1, 2, 3, 4, 5, 7, 7};
  graph.predecessorCount = {0, 1, 1, 1, 1, 1, 0, 2};
  std::vector<bool> detaches(8, false);
  const uint32_t none = noIndex;
  EXPECT_EQ(chainsOf(graph, detaches), (std::vector<uint32_t>{1, 2, none, 5, none, none, none, none}));
  detaches[1] = detaches[3] = true;
  EXPECT_EQ(chainsOf(graph, detaches), (std::vector<uint32_t>{1, none, none, none, none, none, none, none}));
}

TEST(StepGraphTest, nodesAreDescribedWithTheirSource) {
  auto loaded = pipelineProgram({1, 2, 4, false, false})->load();
  StepGraph graph = expand(loaded->root());
  EXPECT_EQ(describeNode(loaded->root(), graph.nodes[nodeOf(graph, 0, 1, 1)]), "rank 0, task F0:1, step 1 'send x' (hand.npar:2:5)");
}

TEST(VirtualTimelineTest, plannedTimesGiveThePipelinesLength) {
  // Kernels, copies and messages take 1 us each. Stage 1 loses 2 us at the start (scale, message), then computes 4 losses, 4 x (copy,
  // accumulate) and reduces.
  auto loaded = pipelineProgram({1, 4, 4, false, false})->load();
  StepGraph graph = expand(loaded->root());
  VirtualTimeline timeline = planTimeline(graph, Operations(loaded->root(), graph));
  uint32_t loss0 = nodeOf(graph, 1, 0, 1), copy0 = nodeOf(graph, 1, 4, 0), scale0 = nodeOf(graph, 0, 0, 0),
           receive0 = nodeOf(graph, 1, 0, 0);
  EXPECT_NEAR(timeline.begin[scale0], 0, 1e-12);
  EXPECT_NEAR(timeline.begin[receive0], 1e-6, 1e-12);
  EXPECT_NEAR(timeline.begin[loss0], 2e-6, 1e-12);
  EXPECT_NEAR(timeline.begin[copy0], 6e-6, 1e-12);
  EXPECT_NEAR(timeline.end[nodeOf(graph, 1, 7, 2)], 14e-6, 1e-12);
  EXPECT_GE(timeline.length, 16e-6);
}

} // namespace
} // namespace npar::testing
