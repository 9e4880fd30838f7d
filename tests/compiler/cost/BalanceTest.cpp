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

/// With one part per stage the cut equals that of balanceBlocks. With several, the parts of a stage count together: the first stage of a V
/// has both ends of the chain, so it gets fewer blocks.
TEST(Balance, PartsOfAStageCountTogether) {
  using Alike = std::vector<ChainCosts>;
  EXPECT_EQ(balanceParts(Alike{{{1, 1, 1, 1, 1}, 0, 1}}, {0, 1}), balanceBlocks({1, 1, 1, 1, 1}, 2, 0, 1));
  EXPECT_EQ(balanceParts(Alike{{{1, 1, 1, 1, 1, 1}, 0, 2}}, {0, 1, 1, 0}), (Counts{1, 2, 2, 1}));
  EXPECT_EQ(balanceParts(Alike{{{1, 1, 1, 1, 1, 1}, 0, 0}}, {0, 1, 0, 1}), (Counts{2, 2, 1, 1}));
  EXPECT_EQ(balanceParts(Alike{{{1, 1, 1}, 0, 0}}, {0, 1, 1, 0}), Counts());
}

/// Blocks that take twice as long on the second of two stages: 8 x 1 = 4 x 2, and a head of 2 there (on slow hosts 4) is worth two blocks.
TEST(Balance, SlowerStagesTakeFewerBlocks) {
  ChainCosts fast{std::vector<double>(12, 1), 0, 0}, slow{std::vector<double>(12, 2), 0, 0};
  EXPECT_EQ(balanceParts({fast, slow}, {0, 1}), (Counts{8, 4}));
  EXPECT_EQ(balanceParts({slow, fast}, {0, 1}), (Counts{4, 8}));
  fast.after = 2, slow.after = 4;
  EXPECT_EQ(balanceParts({fast, slow}, {0, 1}), (Counts{10, 2})); // 10 against 4 + 4, not 9 against 6 + 4
  EXPECT_EQ(balanceParts({slow, fast}, {0, 1}), (Counts{4, 8}));  // 8 against 8 + 2; 10 against 7 + 2 is no shorter
  EXPECT_EQ(balanceParts({fast, fast}, {0, 1}), balanceBlocks(fast.blocks, 2, 0, 2));
  fast.after = slow.after = 0;
  Counts parts = balanceParts({fast, slow}, {0, 1, 1, 0}); // a V: 8 blocks on the first stage in two parts
  EXPECT_EQ(parts[0] + parts[3], 8);
  EXPECT_EQ(parts[1] + parts[2], 4);
}

/// Two fast stages and two that take 2.5 times as long, each with two parts: 9 and 3 blocks (9 against 7.5), not 10 and 2 or 8 and 4.
TEST(Balance, PartsOfUnevenStagesAreDealtByStage) {
  ChainCosts fast{std::vector<double>(24, 1), 0, 0}, slow{std::vector<double>(24, 2.5), 0, 0};
  Counts placement{0, 1, 2, 3, 3, 2, 1, 0}, parts = balanceParts({fast, fast, slow, slow}, placement), stages(4);
  for (size_t place = 0; place < parts.size(); ++place)
    stages[placement[place]] += parts[place];
  EXPECT_EQ(stages, (Counts{9, 9, 3, 3}));
}

/// Beside all cuts, on stages that are each of another pace.
TEST(Balance, TheBestCutOfUnevenStages) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> cost(0.5, 2);
  for (int round = 0; round < 50; ++round) {
    std::vector<ChainCosts> chains(3);
    for (ChainCosts &chain : chains) {
      chain.before = cost(random), chain.after = cost(random);
      for (int block = 0; block < 8; ++block)
        chain.blocks.push_back(cost(random));
    }
    auto longest = [&](int first, int second) {
      std::vector<double> stages{chains[0].before, 0, chains[2].after};
      for (int block = 0; block < 8; ++block)
        stages[block < first ? 0 : block < second ? 1 : 2] += chains[block < first ? 0 : block < second ? 1 : 2].blocks[block];
      return *std::max_element(stages.begin(), stages.end());
    };
    double best = 1e9;
    for (int first = 1; first < 7; ++first)
      for (int second = first + 1; second < 8; ++second)
        best = std::min(best, longest(first, second));
    Counts counts = balanceParts(chains, {0, 1, 2});
    EXPECT_DOUBLE_EQ(longest(counts[0], counts[0] + counts[1]), best);
  }
}

} // namespace npar::cost
