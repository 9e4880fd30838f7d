// Conformance tests of sums in communicators, for 1 to 8 ranks: the order of addition, rounding, in-place work, maxima.
#include "tests/engine/comm/ConformanceGroup.h"

#include "engine/numbers/NarrowFloat.h"

#include <limits>

namespace npar::testing {
namespace {

TEST_P(CommunicatorConformance, allReduceAddsInAscendingOrderWhoeverComesLast) {
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (bool inPlace : {false, true})
      for (bool backwards : {false, true})
        for (ReduceOp op : {ReduceOp::Sum, ReduceOp::Max}) {
          checkAllReduce<float>(world, n, 1025, inPlace, backwards, op, event++);
          checkAllReduce<double>(world, n, 3, inPlace, backwards, op, event++);
          checkAllReduce<int32_t>(world, n, 17, inPlace, backwards, op, event++);
        }
}

TEST_P(CommunicatorConformance, bigReductionsKeepTheOrder) { checkAllReduce<float>(world, 5, 300001, true, false, ReduceOp::Sum, 1); }

/// 16-bit floats: added in float32 and rounded once, or after each addition.
template <typename Narrow> void checkNarrowSum(const World &world, ElementType type) {
  uint32_t event = 0;
  for (ReduceOp op : {ReduceOp::Sum, ReduceOp::RoundedSum})
    for (size_t n : {1, 2, 3, 8}) {
      constexpr uint64_t count = 3000;
      Group<uint16_t> group(world, n, count, count);
      group.prototype.type = type, group.prototype.event = event++, group.prototype.op = op;
      std::vector<uint16_t> expected(count);
      bool differ = false;
      for (uint64_t i = 0; i < count; ++i) {
        float sum = 0, once = 0;
        for (size_t r = 0; r < n; ++r) {
          Narrow v(static_cast<float>(std::sin(double(r * 131 + i * 17 + 1)) * 10));
          group.input[r][i] = v.bits;
          once = r == 0 ? static_cast<float>(v) : once + static_cast<float>(v);
          sum = r == 0 ? static_cast<float>(v) : static_cast<float>(Narrow(sum + static_cast<float>(v)));
        }
        differ |= Narrow(sum).bits != Narrow(once).bits;
        expected[i] = Narrow(op == ReduceOp::Sum ? once : sum).bits;
      }
      EXPECT_EQ(differ, n > 2) << "the two meanings are apart from three ranks on";
      group.run();
      for (size_t r = 0; r < n; ++r)
        ASSERT_EQ(group.output[r], expected) << n << " ranks, rank " << r;
    }
}

TEST_P(CommunicatorConformance, sumsOfSixteenBitsRoundOnceOrEachTime) { checkNarrowSum<engine::BFloat16>(world, ElementType::BF16); }

TEST_P(CommunicatorConformance, sumsOfHalvesRoundOnceOrEachTime) { checkNarrowSum<engine::Float16>(world, ElementType::F16); }

TEST_P(CommunicatorConformance, maxPassesNanOn) {
  Group<float> group(world, 3, 2, 2);
  group.prototype.op = ReduceOp::Max;
  group.input = {{1, 2}, {std::numeric_limits<float>::quiet_NaN(), 5}, {7, 3}};
  group.run();
  EXPECT_TRUE(std::isnan(group.output[0][0]));
  EXPECT_EQ(group.output[2][1], 5);
}

} // namespace
} // namespace npar::testing
