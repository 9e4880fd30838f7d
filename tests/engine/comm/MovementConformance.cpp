// Conformance tests of data movement in communicators, for 1 to 8 ranks: gathers, scatters, exchanges of blocks, rings.
#include "tests/engine/comm/RoutedRows.h"

namespace npar::testing {
namespace {

TEST_P(CommunicatorConformance, allGatherInterleavesTheOuterDimension) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<float> group(world, n, 2 * 3 * 5, n * 2 * 3 * 5);
    group.prototype.kind = CollectiveKind::AllGather;
    group.prototype.outer = 2, group.prototype.split = 3, group.prototype.inner = 5;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < 30; ++i)
        group.input[r][i] = static_cast<float>(100 * r + i);
    group.run();
    for (size_t r = 0; r < n; ++r)
      for (size_t outer = 0; outer < 2; ++outer)
        for (size_t from = 0; from < n; ++from)
          for (size_t i = 0; i < 15; ++i)
            ASSERT_EQ(group.output[r][(outer * n + from) * 15 + i], static_cast<float>(100 * from + outer * 15 + i));
  }
}

TEST_P(CommunicatorConformance, reduceScatterIsAllReduceThenSlice) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<float> group(world, n, n * 30, 30);
    group.prototype.kind = CollectiveKind::ReduceScatter;
    group.prototype.outer = 2, group.prototype.split = 3, group.prototype.inner = 5;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < n * 30; ++i)
        group.input[r][i] = value<float>(r, i);
    group.run(true);
    for (size_t r = 0; r < n; ++r)
      for (size_t outer = 0; outer < 2; ++outer)
        for (size_t i = 0; i < 15; ++i) {
          float sum = 0;
          for (size_t from = 0; from < n; ++from)
            sum = from ? sum + group.input[from][(outer * n + r) * 15 + i] : group.input[0][(outer * n + r) * 15 + i];
          ASSERT_EQ(group.output[r][outer * 15 + i], sum);
        }
  }
}

// Shares of one row: the last ranks may have padding or nothing else, which is neither read nor left as it was.
TEST_P(CommunicatorConformance, sharesOfARowDropAndFillTheirPadding) {
  constexpr uint64_t share = 6;
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (uint64_t whole : {uint64_t(1), share, n * share - 5, n * share}) {
      Group<float> gather(world, n, share, whole), scatter(world, n, whole, share);
      for (auto *group : {&gather, &scatter}) {
        group->prototype.kind = group == &gather ? CollectiveKind::AllGather : CollectiveKind::ReduceScatter;
        group->prototype.event = event++, group->prototype.split = share, group->prototype.whole = whole;
      }
      for (size_t r = 0; r < n; ++r) {
        std::fill(scatter.output[r].begin(), scatter.output[r].end(), -1.0f);
        for (uint64_t i = 0; i < share; ++i)
          gather.input[r][i] = r * share + i < whole ? static_cast<float>(r * share + i) : NAN;
        for (uint64_t i = 0; i < whole; ++i)
          scatter.input[r][i] = value<float>(r, i);
      }
      gather.run();
      scatter.run(true);
      for (size_t r = 0; r < n; ++r) {
        for (uint64_t i = 0; i < whole; ++i)
          ASSERT_EQ(gather.output[r][i], static_cast<float>(i));
        for (uint64_t i = 0; i < share; ++i) {
          float sum = 0;
          for (size_t from = 0; from < n && r * share + i < whole; ++from)
            sum = from ? sum + scatter.input[from][r * share + i] : scatter.input[0][r * share + i];
          ASSERT_EQ(scatter.output[r][i], sum) << n << " ranks, " << whole << " elements, rank " << r << ", element " << i;
        }
      }
    }
}

// The same along the middle of three dimensions.
TEST_P(CommunicatorConformance, shardsOfAPaddedDimensionAreGathered) {
  constexpr uint64_t outer = 2, split = 3, inner = 2;
  uint32_t event = 0;
  for (size_t n = 1; n <= 8; ++n)
    for (uint64_t whole : {uint64_t(1), split, n * split - 2, n * split}) {
      Group<float> gather(world, n, outer * split * inner, outer * whole * inner);
      gather.prototype.kind = CollectiveKind::AllGather, gather.prototype.event = event++;
      gather.prototype.outer = outer, gather.prototype.split = split, gather.prototype.inner = inner, gather.prototype.whole = whole;
      for (size_t r = 0; r < n; ++r)
        for (uint64_t i = 0; i < outer * split * inner; ++i) {
          uint64_t place = r * split + i / inner % split;
          gather.input[r][i] = place < whole ? static_cast<float>((i / (split * inner) * whole + place) * inner + i % inner) : NAN;
        }
      gather.run();
      for (size_t r = 0; r < n; ++r)
        for (uint64_t i = 0; i < outer * whole * inner; ++i)
          ASSERT_EQ(gather.output[r][i], static_cast<float>(i)) << n << " ranks, " << whole << " places, rank " << r;
    }
}

TEST_P(CommunicatorConformance, allToAllTransposesBlocks) {
  for (size_t n = 1; n <= 8; ++n) {
    Group<int32_t> group(world, n, n * 4, n * 4);
    group.prototype.kind = CollectiveKind::AllToAll, group.prototype.inner = 4;
    for (size_t r = 0; r < n; ++r)
      for (size_t i = 0; i < n * 4; ++i)
        group.input[r][i] = static_cast<int32_t>(1000 * r + i);
    group.run();
    for (size_t r = 0; r < n; ++r)
      for (size_t from = 0; from < n; ++from)
        for (size_t i = 0; i < 4; ++i)
          ASSERT_EQ(group.output[r][from * 4 + i], static_cast<int32_t>(1000 * from + r * 4 + i));
  }
}

TEST_P(CommunicatorConformance, allToAllMovesASplitFromOneDimensionToAnother) {
  // A global tensor [a, b, c, d, e]; b and d are cut into n, in the input one of them, in the output the other.
  const size_t a = 2, c = 2, e = 2, blockB = 3, blockD = 2;
  for (size_t n = 1; n <= 4; ++n)
    for (bool concatFirst : {false, true}) {
      size_t wholeB = n * blockB, wholeD = n * blockD, count = a * wholeB * c * wholeD * e / n;
      Group<int32_t> group(world, n, count, count);
      group.prototype.kind = CollectiveKind::AllToAll, group.prototype.concatFirst = concatFirst;
      group.prototype.outer = a, group.prototype.middle = c, group.prototype.inner = e;
      group.prototype.split = concatFirst ? blockD : blockB, group.prototype.concat = concatFirst ? blockB : blockD;
      // The value of a place is its number in the global tensor; `cutB`: rank r has the places [r blockB, (r + 1) blockB) of b, else of d.
      auto piece = [&](size_t r, bool cutB) {
        std::vector<int32_t> values;
        size_t firstB = cutB ? r * blockB : 0, lastB = cutB ? firstB + blockB : wholeB;
        size_t firstD = cutB ? 0 : r * blockD, lastD = cutB ? wholeD : firstD + blockD;
        for (size_t i = 0; i < a; ++i)
          for (size_t j = firstB; j < lastB; ++j)
            for (size_t k = 0; k < c; ++k)
              for (size_t l = firstD; l < lastD; ++l)
                for (size_t m = 0; m < e; ++m)
                  values.push_back(static_cast<int32_t>((((i * wholeB + j) * c + k) * wholeD + l) * e + m));
        return values;
      };
      for (size_t r = 0; r < n; ++r)
        group.input[r] = piece(r, concatFirst);
      group.run();
      for (size_t r = 0; r < n; ++r)
        EXPECT_EQ(group.output[r], piece(r, !concatFirst)) << n << " ranks, rank " << r << ", concat first: " << concatFirst;
    }
}

// Rows that do not exist become zeros; on asynchronous devices, whose ends are not read, they are copied from the source. A member has one
// piece or two, and the entries fill all pieces or some.
TEST_P(CommunicatorConformance, existingRowsMove) {
  uint32_t event = 0;
  for (size_t n = 1; n <= 4; ++n)
    for (bool concatFirst : {false, true})
      for (auto [pieces, groups] : {std::pair<size_t, size_t>(1, n), {1, 2 * n - 1}, {1, 1}, {2, 6 * n}}) {
        RoutedRows routed(world, n, concatFirst, pieces, groups, ++event);
        routed.group.prototype.event = event;
        routed.run();
        for (size_t r = 0; r < n; ++r) {
          bool same = routed.group.output[r] == routed.piece(r, !concatFirst, 0);
          bool all = routed.group.output[r] == routed.piece(r, !concatFirst, RoutedRows::missing);
          bool mayMoveAll = routed.group.backendOf(r).asynchronous();
          EXPECT_TRUE(same || (mayMoveAll && all))
              << n << " ranks, rank " << r << ", concat first: " << concatFirst << ", " << groups << " groups";
        }
      }
}

TEST_P(CommunicatorConformance, permuteGoesRoundTheRing) {
  for (size_t n = 2; n <= 8; ++n)
    for (uint32_t shift = 1; shift < n; ++shift) {
      Group<double> group(world, n, 5, 5);
      group.prototype.kind = CollectiveKind::Permute, group.prototype.shift = shift, group.prototype.event = shift;
      for (size_t r = 0; r < n; ++r)
        for (size_t i = 0; i < 5; ++i)
          group.input[r][i] = value<double>(r, i);
      group.run(shift % 2);
      for (size_t r = 0; r < n; ++r)
        EXPECT_EQ(group.output[(r + shift) % n], group.input[r]) << n << " ranks, rank " << r << ", shift " << shift;
    }
}

} // namespace
} // namespace npar::testing
