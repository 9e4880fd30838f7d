// The cost model's formulas with round numbers.
#include "compiler/cost/CostModel.h"

#include <gtest/gtest.h>

namespace npar::cost {

const Machine machine{100, 10, 20, 5, 2};

TEST(CostModel, AStepTakesTheSlowerOfArithmeticAndMemory) {
  EXPECT_DOUBLE_EQ(stepSeconds(machine, Work::Matmul, 1000, 20), 10);
  EXPECT_DOUBLE_EQ(stepSeconds(machine, Work::Vector, 1000, 20), 100);
  EXPECT_DOUBLE_EQ(stepSeconds(machine, Work::Vector, 10, 400), 20);
}

TEST(CostModel, AMessageTakesLatencyAndBytes) { EXPECT_DOUBLE_EQ(transferSeconds(machine, 50), 12); }

TEST(CostModel, RingCollectives) {
  // 3 rounds of 10 bytes: 3 * (2 + 2)
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllGather, 40, 4), 12);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::ReduceScatter, 40, 4), 12);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllReduce, 40, 4), 24);
  EXPECT_DOUBLE_EQ(collectiveSeconds(machine, npar::program::CollectiveKind::AllReduce, 40, 1), 0);
}

} // namespace npar::cost
