// The parts that schedules are built with: where W goes between forwards and backwards, greedy runs, building blocks.
#include "Make.h"
#include "compiler/schedules/FillWeights.h"
#include "compiler/schedules/GreedyOrder.h"
#include "compiler/schedules/VShape.h"
#include "compiler/schedules/Validate.h"

#include <limits>

namespace npar::schedules {

static std::string filled(const Schedule &schedule, StageCost cost, double transfer, WeightRule rule) {
  size_t stages = schedule.lists.size();
  return print(fillWeights(schedule, std::vector<StageCost>(stages, cost), transfer, std::vector<WeightRule>(stages, rule)).lists);
}

// Stage 1 never waits before its last backward, stage 0 waits for each backward.
TEST(FillWeights, WFillsGapsAndTheEnd) {
  EXPECT_EQ(filled(make("1f1b", 2, 3), {1, 1, 1}, 0, {3, 0}), "F0 F1 B0 F2 B1 W0 B2 W1 W2\n"
                                                              "F0 B0 F1 B1 F2 B2 W0 W1 W2\n");
}

TEST(FillWeights, WMakesRoomForAForward) {
  EXPECT_EQ(filled(make("1f1b", 2, 3), {1, 1, 1}, 0, {2, 0}), "F0 F1 B0 W0 F2 B1 W1 B2 W2\n"
                                                              "F0 B0 F1 B1 W0 F2 B2 W1 W2\n");
}

// The gap before B2 on stage 0 is half a W long: it is kept with patience, filled without.
TEST(FillWeights, PatienceKeepsShortGaps) {
  EXPECT_EQ(filled(make("1f1b", 2, 2), {1, 1, 4}, 0.5, {2, 0}).substr(0, 21), "F0 F1 B0 W0 B1 W1\nF0 ");
  EXPECT_EQ(filled(make("1f1b", 2, 2), {1, 1, 4}, 0.5, {2, 0.5}).substr(0, 21), "F0 F1 B0 B1 W0 W1\nF0 ");
}

TEST(FillWeights, ALimitThatTheOrderCannotKeepGivesNothing) {
  EXPECT_TRUE(fillWeights(make("1f1b", 2, 3), 1).empty());
  EXPECT_FALSE(fillWeights(make("naive", 2, 3), 1).empty());
}

TEST(FillWeights, CostIsThatOfTheSimulation) {
  Schedule schedule = make("zb_v", 4, 9);
  std::vector<StageCost> costs = {{1, 2, 3}, {2, 2, 1}, {1.5, 1, 1}, {3, 1, 2}};
  Filled filled = fillWeights(schedule, costs, 0.3, std::vector<WeightRule>(4, {10, 0.5}));
  schedule.lists = filled.lists;
  EXPECT_NEAR(filled.cost, simulate(schedule, costs, 0.3).cost, 1e-9);
}

// A result is lost only if its score is above the limit, and then the run ends early.
TEST(FillWeights, ALimitOfTheScoreKeepsAllThatAreWithinIt) {
  std::vector<StageCost> costs = {{1, 2, 3}, {2, 2, 1}, {1.5, 1, 1}, {3, 1, 2}};
  for (const char *kind : {"1f1b", "zb_v", "zb_h2", "interleaved"}) {
    Schedule schedule = make(kind, 4, 8);
    for (double patience : {0.0, 0.5, 1.0}) {
      std::vector<WeightRule> rules(4, {10, patience});
      Filled all = fillWeights(schedule, costs, 0.3, rules);
      EXPECT_EQ(fillWeights(schedule, costs, 0.3, rules, score(all)).lists, all.lists);
      EXPECT_TRUE(fillWeights(schedule, costs, 0.3, rules, 0.99 * score(all)).lists.empty());
    }
  }
}

// Within any limit that holds one micro-batch the run comes to its end, on a V as on a loop.
TEST(GreedyOrder, NeverGetsStuck) {
  for (int chunks = 1; chunks <= 4; ++chunks)
    for (int limit = chunks; limit <= chunks + 5; ++limit)
      for (bool forwardFirst : {false, true}) {
        Placement placement = chunks == 2 ? vPlacement(4) : loopPlacement(4, chunks);
        Schedule schedule = greedyOrder(placement, chunks, 9, std::vector<StageCost>(4), 0.1, {limit, 2, forwardFirst});
        schedule.lists = fillWeights(schedule, limit);
        ASSERT_FALSE(schedule.lists.empty());
        EXPECT_TRUE(validate(schedule).empty());
        EXPECT_LE(most(simulateEqual(schedule).peakLive) * chunks, limit);
      }
  EXPECT_TRUE(greedyOrder(vPlacement(4), 2, 9, std::vector<StageCost>(4), 0, {1, 1, false}).lists.empty());
}

// However many times the micro-batches that a chunk needs: all of them, also where a stage takes no time.
TEST(GreedyOrder, TakesNoLimitAsSuch) {
  const double all = std::numeric_limits<double>::infinity();
  for (StageCost second : {StageCost{3, 1, 1}, StageCost{0, 0, 0}}) {
    Schedule schedule = greedyOrder(loopPlacement(2, 1), 1, 4, {{1, 9, 0}, second}, 100, {4, all, false});
    EXPECT_EQ(print(schedule.lists).substr(0, 11), "F0 F1 F2 F3");
  }
}

TEST(VShape, BlocksThatCollideGiveNothing) {
  EXPECT_TRUE(vBlock(6, 4, {2, 2, 1, 1}).lists.empty());
  EXPECT_FALSE(vBlock(6, 4, {2, 1, 2, 1}).lists.empty());
}

} // namespace npar::schedules
