// Tests chains for workers, and lanes for asynchronous devices: where they are cut, and what they wait for.
#include "engine/runtime/StepChains.h"
#include "engine/program/Ranks.h"
#include "tests/engine/runtime/PipelineProgram.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace npar::testing {
namespace {

using namespace engine;
using namespace program;

class StepChainsTest : public ::testing::Test {
protected:
  void expand(uint32_t dataParallel) {
    loaded = pipelineProgram({dataParallel, 2, 4, false, false})->load();
    std::vector<LocalRank> ranks;
    for (int64_t rank = 0; rank < worldOf(loaded->root()); ++rank)
      ranks.push_back({rank, DeviceAddress() + 4096});
    graph = expandProgram(loaded->root(), ranks);
  }
  /// The chain of each step.
  std::vector<uint32_t> chainOf(const StepChains &chains) const {
    std::vector<uint32_t> of(graph.nodes.size(), noIndex);
    for (uint32_t chain = 0; chain < chains.heads.size(); ++chain)
      for (uint32_t i = chains.heads[chain]; i != noIndex; i = chains.next[i])
        of[i] = chain;
    return of;
  }
  /// The chains that each chain waits for, directly or not.
  std::vector<std::set<uint32_t>> before(const StepChains &chains) const {
    std::vector<std::set<uint32_t>> all(chains.count);
    for (uint32_t round = 0; round < chains.count; ++round)
      for (auto [from, to] : chains.edges) {
        all[to].insert(from);
        all[to].insert(all[from].begin(), all[from].end());
      }
    return all;
  }
  std::shared_ptr<const LoadedProgram> loaded;
  StepGraph graph;
};

// Whatever the graph orders is ordered by chains: within a lane by the device, and across by the completion of what comes before.
TEST_F(StepChainsTest, LanesKeepEveryOrderOfTheGraph) {
  for (LaneCut cut : {LaneCut::Communication, LaneCut::Tasks, LaneCut::Steps}) {
    expand(2);
    StepChains chains = laneChains(loaded->root(), graph, cut);
    std::vector<uint32_t> of = chainOf(chains);
    std::vector<std::set<uint32_t>> earlier = before(chains);
    for (uint32_t chain = 0; chain < chains.count; ++chain)
      EXPECT_EQ(earlier[chain].count(chain), 0u) << "a circle";
    size_t acrossLanes = 0;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      ASSERT_NE(of[i], noIndex);
      for (uint32_t e = graph.firstSuccessor[i]; e < graph.firstSuccessor[i + 1]; ++e) {
        uint32_t to = graph.successors[e];
        if (graph.nodes[i].communicates() || graph.nodes[to].communicates()) {
          ASSERT_NE(chains.releases[i], noIndex) << "communication waits for completions";
          EXPECT_EQ(earlier[of[to]].count(chains.releases[i]), 1u);
          EXPECT_EQ(to, chains.heads[of[to]]) << "nothing of a piece may begin before all that it waits for";
          ++acrossLanes;
        } else if (of[i] != of[to]) {
          EXPECT_EQ(earlier[of[to]].count(of[i]), 1u);
        }
      }
    }
    EXPECT_GT(acrossLanes, 0u);
  }
}

// Sends of a micro-batch are posted when it is computed, but the lane does not wait for that to be done.
TEST_F(StepChainsTest, ALaneGoesOnWithoutWaitingForItself) {
  expand(1);
  StepChains lanes = laneChains(loaded->root(), graph, LaneCut::Communication), tasks = laneChains(loaded->root(), graph, LaneCut::Tasks),
             alone = laneChains(loaded->root(), graph, LaneCut::Steps);
  EXPECT_LE(lanes.heads.size(), tasks.heads.size());
  EXPECT_LT(tasks.heads.size(), alone.heads.size());
  EXPECT_EQ(alone.heads.size(), graph.nodes.size());
  std::vector<std::set<uint32_t>> earlier = before(lanes);
  size_t free = 0;
  for (auto [from, to] : lanes.edges)
    if (from < lanes.heads.size() && to < lanes.heads.size() && !graph.nodes[lanes.heads[from]].communicates() &&
        !graph.nodes[lanes.heads[to]].communicates()) {
      for (uint32_t i = lanes.heads[from]; i != noIndex; i = lanes.next[i])
        free += lanes.releases[i] != noIndex && earlier[to].count(lanes.releases[i]) == 0;
    }
  EXPECT_GT(free, 0u) << "some piece is told of as done, and the next one of its lane does not wait for that";
}

// A step of a lane that waits for an earlier one starts a new group, and the last step of a piece stays the last.
TEST_F(StepChainsTest, EqualKernelsStandTogether) {
  ProgramBuilder b({{"dp", 1}});
  uint32_t kernels[] = {b.kernel("scale_tokens", 4), b.kernel("descend", 4)};
  ClassBuilder &c = b.rankClass("all", {});
  std::vector<Span> places;
  for (int i = 0; i < 6; ++i)
    places.push_back(c.fixed(64));
  uint32_t update = c.fragment("U0", Phase::Update);
  struct {
    uint32_t kernel, place;
    std::vector<uint32_t> after;
  } steps[] = {{0, 0, {}}, {1, 1, {}}, {0, 2, {}}, {0, 0, {0}}, {1, 3, {}}, {0, 4, {}}, {1, 5, {}}};
  for (const auto &[kernel, place, after] : steps)
    c.step(StepKind::Kernel, kernels[kernel], {places[place]}, {places[place]}, after, "step");
  c.task(update, 0);
  loaded = b.load();
  ASSERT_TRUE(loaded);
  graph = expandProgram(loaded->root(), {{0, DeviceAddress() + 4096}});
  auto inOrder = [&](const StepChains &chains) {
    std::vector<std::pair<uint32_t, uint32_t>> order; // steps, and how many are together from there on
    for (uint32_t chain = 0; chain < chains.heads.size(); ++chain)
      for (uint32_t i = chains.heads[chain]; i != noIndex; i = chains.next[i])
        if (!graph.nodes[i].joins())
          order.emplace_back(graph.nodes[i].step, chains.together[i]);
    return order;
  };
  using Order = std::vector<std::pair<uint32_t, uint32_t>>;
  EXPECT_EQ(inOrder(laneChains(loaded->root(), graph, LaneCut::Communication)),
            (Order{{0, 2}, {2, 1}, {1, 1}, {3, 2}, {5, 1}, {4, 1}, {6, 1}}));
  EXPECT_EQ(inOrder(laneChains(loaded->root(), graph, LaneCut::Steps)), (Order{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}));
}

TEST_F(StepChainsTest, WorkersStayUntilTheyCommunicate) {
  expand(1);
  StepChains chains = workerChains(graph);
  EXPECT_EQ(chains.count, chains.heads.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    EXPECT_EQ(chains.releases[i] != noIndex, graph.nodes[i].communicates());
}

} // namespace
} // namespace npar::testing
