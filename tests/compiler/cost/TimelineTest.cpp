// The event simulation: waiting, messages, cycles, tasks that no lane runs.
#include "compiler/cost/Timeline.h"

#include <gtest/gtest.h>

namespace npar::cost {

// Lane 0 runs kind 0 (3 s) twice; lane 1 runs kind 1 (1 s) after it, 0.5 s later each.
TEST(Timeline, TasksWaitForTheirMessages) {
  TaskGraph graph;
  graph.kinds = {{3}, {1}};
  graph.edges = {{0, 1, 0.5}};
  graph.lanes = {{{0, 0}, {0, 1}}, {{1, 0}, {1, 1}}};
  Timeline timeline = simulate(graph);
  ASSERT_TRUE(timeline.complete);
  EXPECT_DOUBLE_EQ(timeline.spans[0][1].begin, 3);
  EXPECT_DOUBLE_EQ(timeline.spans[1][0].begin, 3.5);
  EXPECT_DOUBLE_EQ(timeline.spans[1][1].begin, 6.5);
  EXPECT_DOUBLE_EQ(timeline.makespan, 7.5);
  EXPECT_DOUBLE_EQ(timeline.bubble, (15.0 - 8) / 15);
}

TEST(Timeline, LanesThatWaitForEachOtherAreStuck) {
  TaskGraph graph;
  graph.kinds = {{1}, {1}};
  graph.edges = {{0, 1, 0}, {1, 0, 0}};
  graph.lanes = {{{0, 0}}, {{1, 0}}};
  Timeline timeline = simulate(graph);
  EXPECT_FALSE(timeline.complete);
  EXPECT_EQ(timeline.stuck, (std::vector<int>{0, 0}));
}

TEST(Timeline, ATaskThatNobodyRunsIsWaitedForInVain) {
  TaskGraph graph;
  graph.kinds = {{1}, {1}};
  graph.edges = {{0, 1, 0}};
  graph.lanes = {{{0, 0}}, {{1, 0}, {1, 1}}};
  Timeline timeline = simulate(graph);
  EXPECT_FALSE(timeline.complete);
  EXPECT_EQ(timeline.stuck, (std::vector<int>{1, 1}));
}

TEST(Timeline, NothingToDo) {
  Timeline timeline = simulate({});
  EXPECT_TRUE(timeline.complete);
  EXPECT_EQ(timeline.makespan, 0);
}

} // namespace npar::cost
