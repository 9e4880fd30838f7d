// Grouped products: each row meets the matrix of its group and nothing else is touched, sums over rows are one chain over all samples, and
// the bits are the same for every number of workers, however unequal the groups are.
#include "engine/backends/cpu/CpuBackend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace npar::testing::grouped {
namespace {

using namespace engine;
using program::ElementType, program::Grouping;

constexpr int64_t samples = 3, groups = 4;

/// Rows per sample and group, and how wide the matrices are: [rows, k] x [groups, k, n].
struct Shape {
  int64_t rows, k, n;
  bool transposedB;
};

/// The first and the last row of each group in each sample.
struct Ranges {
  std::vector<int32_t> first, last;
  bool has(int64_t sample, int64_t group, int64_t row) const {
    auto at = static_cast<size_t>(sample * groups + group);
    return row >= first[at] && row < last[at];
  }
};

/// Sorted groups of these sizes in each sample; the rows after them belong to none.
Ranges rangesOf(const std::vector<std::vector<int32_t>> &sizes) {
  Ranges ranges;
  for (const std::vector<int32_t> &sample : sizes)
    for (size_t group = 0; group < sample.size(); ++group) {
      ranges.first.push_back(std::accumulate(sample.begin(), sample.begin() + static_cast<long>(group), 0));
      ranges.last.push_back(ranges.first.back() + sample[group]);
    }
  return ranges;
}

/// Balanced; a group with nearly all rows and one without any; rows of no group, and a sample without rows.
std::vector<Ranges> loads(int32_t rows) {
  int32_t quarter = rows / 4, rest = rows - 3 * quarter;
  return {rangesOf({{quarter, quarter, quarter, rest}, {quarter, quarter, rest, quarter}, {rest, quarter, quarter, quarter}}),
          rangesOf({{1, rows - 1, 0, 0}, {0, rows, 0, 0}, {0, rows - 2, 0, 2}}),
          rangesOf({{quarter, 0, 1, 0}, {0, 0, 0, 0}, {0, quarter, quarter, 1}})};
}

template <typename T> std::vector<T> values(int64_t count, uint32_t seed) {
  std::vector<T> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = T(std::sin(double(i * 2654435761u % 1000003u + seed)));
  return all;
}

program::MatmulT productOf(const Shape &s, ElementType type, Grouping grouping) {
  program::MatmulT p;
  p.type = p.result = type, p.grouping = grouping;
  p.batch = {samples, groups};
  if (grouping == Grouping::Rows) {
    p.m = s.rows, p.n = s.n, p.k = s.k;
    p.a_row = s.k, p.a_column = 1, p.b_row = s.transposedB ? 1 : s.n, p.b_column = s.transposedB ? s.k : 1, p.c_row = s.n;
    p.a_batch = {s.rows * s.k, 0}, p.b_batch = {0, s.k * s.n}, p.c_batch = {s.rows * s.n, 0};
  } else {
    p.m = s.k, p.n = s.n, p.k = s.rows;
    p.a_row = 1, p.a_column = s.k, p.b_row = s.n, p.b_column = 1, p.c_row = s.n;
    p.a_batch = {s.rows * s.k, 0}, p.b_batch = {s.rows * s.n, 0}, p.c_batch = {0, s.k * s.n};
  }
  return p;
}

template <typename T, typename Sum = T>
void run(const program::MatmulT &product, int threads, const std::vector<T> &a, const std::vector<T> &b, const Ranges &ranges,
         std::vector<Sum> &c, program::ProductOrder order = program::ProductOrder::Portable) {
  CpuBackend backend({threads, threads > 1}, order);
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(product));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
  ASSERT_TRUE(status.ok()) << status.message();
  auto address = [](const void *memory) { return DeviceAddress(const_cast<void *>(memory)); };
  DeviceAddress buffers[] = {address(a.data()), address(b.data()), address(ranges.first.data()), address(ranges.last.data()),
                             address(c.data())};
  ASSERT_TRUE(backend.runGrouped(0, buffers).ok());
}

template <typename T> std::vector<T> expectedRows(const Shape &s, const std::vector<T> &a, const std::vector<T> &b, const Ranges &ranges) {
  std::vector<T> c(static_cast<size_t>(samples * s.rows * s.n));
  for (int64_t row = 0; row < samples * s.rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t j = 0; j < s.n && ranges.has(row / s.rows, group, row % s.rows); ++j) {
        T sum = 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum = std::fma(a[static_cast<size_t>(row * s.k + k)],
                         b[static_cast<size_t>(group * s.k * s.n + (s.transposedB ? j * s.k + k : k * s.n + j))], sum);
        c[static_cast<size_t>(row * s.n + j)] = sum;
      }
  return c;
}

template <typename T> std::vector<T> expectedDepth(const Shape &s, const std::vector<T> &a, const std::vector<T> &b, const Ranges &ranges) {
  std::vector<T> c(static_cast<size_t>(groups * s.k * s.n));
  for (int64_t row = 0; row < samples * s.rows; ++row)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = 0; i < s.k && ranges.has(row / s.rows, group, row % s.rows); ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          T &sum = c[static_cast<size_t>((group * s.k + i) * s.n + j)];
          sum = std::fma(a[static_cast<size_t>(row * s.k + i)], b[static_cast<size_t>(row * s.n + j)], sum);
        }
  return c;
}

template <typename T> void check(const Shape &s, ElementType type, Grouping grouping) {
  std::vector<T> a = values<T>(samples * s.rows * s.k, 1),
                 b = values<T>(grouping == Grouping::Rows ? groups * s.k * s.n : samples * s.rows * s.n, 2);
  for (const Ranges &ranges : loads(static_cast<int32_t>(s.rows))) {
    std::vector<T> expected = grouping == Grouping::Rows ? expectedRows(s, a, b, ranges) : expectedDepth(s, a, b, ranges);
    for (int threads : {1, 2, 5}) {
      std::vector<T> c(expected.size(), T(NAN));
      run(productOf(s, type, grouping), threads, a, b, ranges, c);
      ASSERT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(T)), 0)
          << s.rows << " rows, " << s.k << " x " << s.n << ", " << threads << " threads, " << program::EnumNameGrouping(grouping);
    }
  }
}

TEST(GroupedProductsTest, eachRowMeetsItsGroup) {
  // The last two are large enough for copies of short ranges.
  for (const Shape &s : {Shape{8, 5, 3, false}, Shape{40, 70, 33, true}, Shape{130, 800, 90, false}, Shape{40, 250, 210, true},
                         Shape{300, 210, 250, false}}) {
    check<float>(s, ElementType::F32, Grouping::Rows);
    check<double>(s, ElementType::F64, Grouping::Rows);
  }
}

TEST(GroupedProductsTest, sumsOverRowsAreOneChain) {
  for (const Shape &s : {Shape{8, 5, 3, false}, Shape{40, 70, 33, false}, Shape{400, 90, 130, false}, Shape{40, 250, 210, false},
                         Shape{300, 210, 250, false}}) {
    check<float>(s, ElementType::F32, Grouping::Depth);
    check<double>(s, ElementType::F64, Grouping::Depth);
  }
}

/// The rows of samples with a gap after each: rows so far apart are never copied.
std::vector<uint16_t> apart(const std::vector<uint16_t> &rows, int64_t width, int64_t stride) {
  std::vector<uint16_t> all(rows.size() / static_cast<size_t>(width) * static_cast<size_t>(stride));
  for (size_t i = 0; i < rows.size(); ++i)
    all[i / static_cast<size_t>(width) * static_cast<size_t>(stride) + i % static_cast<size_t>(width)] = rows[i];
  return all;
}

// Sums of bf16 are in groups that begin with each sample's rows, in copies too.
TEST(GroupedProductsTest, sumsOfBf16DoNotDependOnCopies) {
  Shape s{150, 250, 210, false};
  std::vector<uint16_t> a(static_cast<size_t>(samples * s.rows * s.k)), b(static_cast<size_t>(samples * s.rows * s.n));
  for (std::vector<uint16_t> *all : {&a, &b})
    for (size_t i = 0; i < all->size(); ++i)
      (*all)[i] = static_cast<uint16_t>(0x3f00 + i * 2654435761u % 251 + (i % 3 == 0 ? 0x8000 : 0)); // about 0.5 to 2, or negative
  program::MatmulT product = productOf(s, ElementType::BF16, Grouping::Depth), wide = product;
  product.result = wide.result = ElementType::F32;
  wide.a_column = 3 * s.k, wide.a_batch[0] = s.rows * wide.a_column;
  for (program::ProductOrder order : {program::ProductOrder::Portable, program::ProductOrder::Pairs})
    for (const Ranges &ranges : loads(static_cast<int32_t>(s.rows))) {
      std::vector<float> copied(static_cast<size_t>(groups * s.k * s.n), NAN), inPlace = copied;
      run(product, 2, a, b, ranges, copied, order);
      run(wide, 1, apart(a, s.k, wide.a_column), b, ranges, inPlace, order);
      EXPECT_EQ(std::memcmp(copied.data(), inPlace.data(), copied.size() * sizeof(float)), 0);
    }
}

// The finished sum is added, whether a group has rows or not; bands of rows if C is large.
TEST(GroupedProductsTest, sumsAreAdded) {
  for (const Shape &s : {Shape{40, 250, 210, false}, Shape{2, 100, 40000, false}}) {
    std::vector<float> a = values<float>(samples * s.rows * s.k, 1), b = values<float>(samples * s.rows * s.n, 2);
    Ranges ranges = loads(static_cast<int32_t>(s.rows))[1];
    program::MatmulT product = productOf(s, ElementType::F32, Grouping::Depth);
    product.accumulate = true;
    std::vector<float> expected = expectedDepth(s, a, b, ranges), before = values<float>(groups * s.k * s.n, 3), c = before;
    for (size_t i = 0; i < expected.size(); ++i)
      expected[i] += before[i];
    run(product, 2, a, b, ranges, c);
    EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(float)), 0) << s.n << " columns";
  }
}

// Ranges are data: what they say beyond the rows is cut off.
TEST(GroupedProductsTest, rangesBeyondTheRowsAreCutOff) {
  Shape s{8, 5, 3, false};
  std::vector<float> a = values<float>(samples * s.rows * s.k, 1), b = values<float>(groups * s.k * s.n, 2);
  Ranges wild = rangesOf({{2, 2, 2, 2}, {2, 2, 2, 2}, {2, 2, 2, 2}}), cut = wild;
  wild.first[0] = -5, cut.first[0] = 0;
  wild.last[11] = 1000, cut.last[11] = 8;
  wild.last[5] = -3, cut.last[5] = cut.first[5];
  std::vector<float> expected = expectedRows(s, a, b, cut), c(expected.size(), NAN);
  run(productOf(s, ElementType::F32, Grouping::Rows), 2, a, b, wild, c);
  EXPECT_EQ(std::memcmp(c.data(), expected.data(), c.size() * sizeof(float)), 0);
}

} // namespace
} // namespace npar::testing::grouped
