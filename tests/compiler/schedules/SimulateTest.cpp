// Costs, rates and memory of small schedules, by hand.
#include "Make.h"

namespace npar::schedules {

// Two stages, one micro-batch: F 2, B 3, W 1 each, messages 0.5. Stage 1 starts 2.5 later and ends before stage 0.
TEST(Simulate, CostIsTheLongestTimeOfAStage) {
  Simulation simulation = simulate(make("1f1b", 2, 1), {{2, 3, 1}, {2, 3, 1}}, 0.5);
  EXPECT_DOUBLE_EQ(simulation.timeline.spans[1][0].begin, 2.5);
  EXPECT_DOUBLE_EQ(simulation.timeline.spans[1][1].end, 8.5);
  EXPECT_DOUBLE_EQ(simulation.cost, 13);
  EXPECT_DOUBLE_EQ(simulation.bubbleRate, 7.0 / 13);
  EXPECT_DOUBLE_EQ(simulation.timeline.makespan, 13);
}

// A whole backward sends its gradient at its end, a split one after its first part.
TEST(Simulate, ASplitBackwardSendsSooner) {
  Simulation simulation = simulate(make("zb_h1", 2, 1), {{2, 3, 1}, {2, 3, 1}}, 0.5);
  EXPECT_DOUBLE_EQ(simulation.cost, 12);
}

TEST(Simulate, TheSlowestStageDefinesTheWork) {
  Simulation simulation = simulate(make("1f1b", 2, 1), {{1, 1, 1}, {2, 3, 1}});
  EXPECT_DOUBLE_EQ(simulation.cost, 9);
  EXPECT_DOUBLE_EQ(simulation.bubbleRate, 3.0 / 9);
}

TEST(Simulate, MemoryCountsWhatBAndWHold) {
  Schedule schedule{"", 2, 1, loopPlacement(1, 1), {{{Phase::F, 0}, {Phase::F, 1}, {Phase::B, 0}, {Phase::B, 1}, {Phase::W, 0}}}};
  EXPECT_EQ(simulateEqual(schedule).peakLive, std::vector<double>{2});
  EXPECT_EQ(peakMemory(schedule, {{10, 4}}), std::vector<double>{20});
  // W may hold more than B does: then the peak is where both wait.
  EXPECT_EQ(peakMemory(schedule, {{10, 14}}), std::vector<double>{24});
}

TEST(Simulate, AChunkIsAPartOfAStage) {
  Schedule schedule = make("looped_bfs", 1, 1, 2); // F0.0 F0.1 B0.1 B0.0
  Simulation simulation = simulate(schedule, {{2, 4, 6}}, 1);
  EXPECT_DOUBLE_EQ(simulation.timeline.spans[0][0].end, 1);
  EXPECT_DOUBLE_EQ(simulation.cost, 12); // both parts are on one stage: no message
  EXPECT_EQ(simulation.peakLive, std::vector<double>{1});
}

} // namespace npar::schedules
