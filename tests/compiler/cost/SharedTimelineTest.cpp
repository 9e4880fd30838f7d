// Lanes that share cores: a lane that runs alone has full speed, and lanes that run together share the cores.
#include "compiler/cost/Timeline.h"

#include <gtest/gtest.h>

namespace npar::cost {

/// Lanes with one task each, of the given seconds.
TaskGraph lanesOf(std::vector<double> seconds, double cores) {
  TaskGraph graph;
  graph.cores = cores;
  for (size_t i = 0; i < seconds.size(); ++i) {
    graph.kinds.push_back({seconds[i], 1});
    graph.lanes.push_back({{static_cast<int>(i), 0, 0}});
  }
  return graph;
}

TEST(SharedTimeline, FewerLanesThanCoresDoNotWait) {
  Timeline timeline = simulate(lanesOf({3, 5}, 2));
  EXPECT_TRUE(timeline.complete);
  EXPECT_DOUBLE_EQ(timeline.spans[0][0].end, 3);
  EXPECT_DOUBLE_EQ(timeline.spans[1][0].end, 5);
}

TEST(SharedTimeline, MoreLanesShareUntilTheFirstEnds) {
  // 2 cores for 4 lanes: half as fast until the two short ones end at 4; then as fast as alone
  Timeline timeline = simulate(lanesOf({2, 2, 5, 5}, 2));
  EXPECT_DOUBLE_EQ(timeline.spans[0][0].end, 4);
  EXPECT_DOUBLE_EQ(timeline.spans[2][0].end, 7);
  EXPECT_DOUBLE_EQ(timeline.makespan, 7);
}

TEST(SharedTimeline, ALaneMayStandForSeveralRanks) {
  TaskGraph graph = lanesOf({3}, 2);
  graph.ranksPerLane = 4;
  EXPECT_DOUBLE_EQ(simulate(graph).makespan, 6);
}

TEST(SharedTimeline, ATaskThatSpreadsWantsMoreCores) {
  TaskGraph graph = lanesOf({3, 3}, 2);
  graph.kinds[0].cores = graph.kinds[1].cores = 2; // as fast as two cores are, alone
  EXPECT_DOUBLE_EQ(simulate(graph).makespan, 6);
}

TEST(SharedTimeline, DependenciesMessagesAndMicroBatches) {
  TaskGraph graph;
  graph.cores = 1;
  graph.kinds = {{2, 1}, {4, 1}};
  graph.edges = {{0, 1, 0.5}};
  graph.lanes = {{{0, 0, 0}, {0, 1, 0}}, {{1, 0, 0}, {1, 1, 0}}};
  Timeline timeline = simulate(graph);
  ASSERT_TRUE(timeline.complete);
  EXPECT_DOUBLE_EQ(timeline.spans[0][0].end, 2);
  EXPECT_DOUBLE_EQ(timeline.spans[1][0].begin, 2.5);
  // From 2.5 both share: the second task of lane 0 had 0.5 of its 2 seconds, the others take twice as long.
  EXPECT_DOUBLE_EQ(timeline.spans[0][1].end, 5.5);
  EXPECT_DOUBLE_EQ(timeline.spans[1][0].end, 8);
  EXPECT_DOUBLE_EQ(timeline.makespan, 12);
}

TEST(SharedTimeline, ALaneThatWaitsForNobodyIsStuck) {
  TaskGraph graph = lanesOf({1, 1}, 2);
  graph.kinds.push_back({1, 1});
  graph.edges = {{2, 1, 0}};
  Timeline timeline = simulate(graph);
  EXPECT_FALSE(timeline.complete);
  EXPECT_EQ(timeline.stuck[1], 0);
}

} // namespace npar::cost
