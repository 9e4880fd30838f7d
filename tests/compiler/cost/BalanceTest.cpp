// Balanced stages: equal blocks, uneven blocks, heavy ends, and more stages than blocks.
#include "compiler/cost/Balance.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

namespace npar::cost {

using Counts = std::vector<int>;

TEST(Balance, ThirtyEqualBlocksOnFourStages) { EXPECT_EQ(balanceBlocks(std::vector<double>(30, 0.1), 4), (Counts{8, 8, 7, 7})); }

TEST(Balance, HeavyEndsTakeFewerBlocks) {
  EXPECT_EQ(balanceBlocks(std::vector<double>(12, 1), 3, 0, 3), (Counts{5, 5, 2}));
  EXPECT_EQ(balanceBlocks(std::vector<double>(12, 1), 3, 3, 0), (Counts{2, 5, 5}));
}

TEST(Balance, EachStageHasABlock) {
  EXPECT_EQ(balanceBlocks({1, 1, 1}, 3, 0, 100), (Counts{1, 1, 1}));
  EXPECT_EQ(balanceBlocks({0, 0}, 2), (Counts{1, 1}));
}

TEST(Balance, MoreStagesThanBlocks) {
  EXPECT_EQ(balanceBlocks({1, 1}, 3), Counts{});
  EXPECT_EQ(balanceBlocks({}, 1), Counts{});
}

TEST(Balance, OneStageTakesAll) { EXPECT_EQ(balanceBlocks({1, 2, 3}, 1, 4, 5), (Counts{3})); }

// Against all partitions, for small chains of random costs.
TEST(Balance, SmallestMaximumOfAllPartitions) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    int blocks = 3 + random() % 6;
    std::vector<double> costs(blocks);
    for (double &cost : costs)
      cost = random() % 10;
    double before = random() % 10, after = random() % 10, best = 1e30;
    for (int first = 1; first < blocks - 1; ++first)
      for (int second = first + 1; second < blocks; ++second)
        best = std::min(best, std::max({before + std::accumulate(costs.begin(), costs.begin() + first, 0.0),
                                        std::accumulate(costs.begin() + first, costs.begin() + second, 0.0),
                                        after + std::accumulate(costs.begin() + second, costs.end(), 0.0)}));
    Counts counts = balanceBlocks(costs, 3, before, after);
    ASSERT_EQ(counts.size(), 3u);
    double most = 0;
    for (int stage = 0, next = 0; stage < 3; ++stage) {
      double cost = (stage == 0 ? before : 0) + (stage == 2 ? after : 0);
      ASSERT_GE(counts[stage], 1);
      for (int block = 0; block < counts[stage]; ++block)
        cost += costs[next++];
      most = std::max(most, cost);
    }
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), blocks);
    EXPECT_DOUBLE_EQ(most, best);
  }
}

/// With one part per stage the cut is that of balanceBlocks; with several a stage's parts count together: the first stage of a V has both
/// ends of the chain, so it gets fewer blocks.
TEST(Balance, PartsOfAStageCountTogether) {
  EXPECT_EQ(balanceParts({1, 1, 1, 1, 1}, {0, 1}, 0, 1), balanceBlocks({1, 1, 1, 1, 1}, 2, 0, 1));
  EXPECT_EQ(balanceParts({1, 1, 1, 1, 1, 1}, {0, 1, 1, 0}, 0, 2), (Counts{1, 2, 2, 1}));
  EXPECT_EQ(balanceParts({1, 1, 1, 1, 1, 1}, {0, 1, 0, 1}), (Counts{2, 2, 1, 1}));
  EXPECT_EQ(balanceParts({1, 1, 1}, {0, 1, 1, 0}), Counts());
}

} // namespace npar::cost
