// Sums of squares: the written order within blocks of 1,024 elements, bit for bit; exact sums of the blocks, whatever their order, range
// and place; infinity and NaN come through.
#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace npar::codegen;

namespace {
template <typename T> std::vector<T> spreadValues(size_t count, int range = 11) {
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = std::sin(0.7 * i) * std::exp2(double(i % (2 * range + 1)) - range);
  return result;
}

template <typename T> std::vector<double> blockSums(const std::vector<T> &x) {
  std::vector<double> sums;
  for (size_t block = 0; block < x.size(); block += 1024) {
    double lanes[16] = {};
    for (size_t i = block; i < std::min(block + 1024, x.size()); ++i)
      lanes[i % 16] += double(x[i]) * double(x[i]);
    for (int half = 8; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i)
        lanes[i] += lanes[i + half];
    sums.push_back(lanes[0]);
  }
  return sums;
}

/// Bins by frexp and trunc instead of bits: bin b found units of 2^(24 b - 320), at most 2^24 - 1 of them per block.
std::vector<double> bins(const std::vector<double> &sums) {
  std::vector<double> result(56);
  for (double sum : sums)
    for (int b = 55; b >= 0; --b) {
      double chunk = std::ldexp(std::trunc(std::ldexp(sum, 320 - 24 * b)), 24 * b - 320);
      result[b] += chunk;
      sum -= chunk;
    }
  return result;
}

template <typename T> std::vector<double> expected(const std::vector<T> &x) { return bins(blockSums(x)); }

std::string module(const std::string &mesh, const std::string &gradient, const std::string &sums) {
  return "module attributes {" + mesh + "} { func.func @f(%g: " + gradient + ") -> " + sums +
         " {\n%s = nn.square_sums %g parameters [1] : (" + gradient + ") -> " + sums + "\nreturn %s : " + sums + "\n} }";
}

std::string ofOne(size_t size, const std::string &element) {
  return module("", tensorText("embed=" + std::to_string(size), element), tensorText("bin=56", "f64"));
}

template <typename T> void check(const std::string &element) {
  for (size_t size : {1, 7, 16, 1023, 1024, 1025, 5000}) {
    CompiledFunction f(ofOne(size, element));
    ASSERT_TRUE(f.ok());
    std::vector<T> x = spreadValues<T>(size);
    // Any partition of the blocks among workers.
    for (int64_t split : {1, 2, 3, 5})
      EXPECT_EQ(f.run({x}, {0, 0, 1}, split)[0].template as<double>(), expected(x)) << size << " in " << split;
    EXPECT_EQ(expected(x) == std::vector<double>(56), size == 1); // the first value is 0
  }
}
} // namespace

TEST(SquareSum, FollowsTheWrittenOrderInFloat32) { check<float>("f32"); }
TEST(SquareSum, FollowsTheWrittenOrderInFloat64) { check<double>("f64"); }

// The gradients of a tied parameter's uses are added element by element on the way.
TEST(SquareSum, AddsTheUsesOfAParameter) {
  for (size_t size : {7, 1025, 5000}) {
    std::string gradient = tensorText("embed=" + std::to_string(size), "f32"), sums = tensorText("bin=56", "f64");
    CompiledFunction f("module { func.func @f(%g: " + gradient + ", %h: " + gradient + ") -> " + sums + " {\n%c = nn.combine %g, %h : (" +
                       gradient + ", " + gradient + ") -> " + gradient + "\n%s = nn.square_sums %c parameters [1] : (" + gradient +
                       ") -> " + sums + "\nreturn %s : " + sums + "\n} }");
    ASSERT_TRUE(f.ok());
    std::vector<float> x = spreadValues<float>(size), y = spreadValues<float>(size, 5), sum(size);
    std::transform(x.begin(), x.end(), y.begin(), sum.begin(), std::plus<float>());
    EXPECT_EQ(f.run({x, y})[0].as<double>(), expected(sum)) << size;
  }
}

// The bins hold all bits of the blocks' sums, from the largest to the smallest.
TEST(SquareSum, BinsAreExact) {
  CompiledFunction f(ofOne(1024, "f64"));
  ASSERT_TRUE(f.ok());
  for (double x : {1.0, 1e-40, 3e-9, 1.0 / 3, 7.7e8, 1e77, 1.1e154}) {
    std::vector<double> one(1024);
    one[5] = x;
    std::vector<double> result = f.run({one})[0].as<double>();
    double sum = 0;
    for (double bin : result)
      sum += bin; // exact: the bits of the terms do not overlap
    EXPECT_EQ(sum, x * x) << x;
  }
}

// Blocks may be dealt out among ranks in any way: the bins of the parts add up to the bins of the whole, bit for bit, where adding block
// sums one after the other does not.
TEST(SquareSum, PartsAddUpToTheWhole) {
  constexpr size_t blocks = 12;
  std::vector<double> x = spreadValues<double>(1024 * blocks, 300);
  std::vector<double> sums = blockSums(x), backwards(sums.rbegin(), sums.rend());
  ASSERT_NE(std::accumulate(sums.begin(), sums.end(), 0.0), std::accumulate(backwards.begin(), backwards.end(), 0.0));
  CompiledFunction whole(ofOne(x.size(), "f64"));
  ASSERT_TRUE(whole.ok());
  std::vector<double> all = whole.run({x})[0].as<double>();
  for (size_t parts : {2, 3, 4}) {
    CompiledFunction f(ofOne(x.size() / parts, "f64"));
    ASSERT_TRUE(f.ok());
    std::vector<double> total(56);
    for (size_t part = parts; part-- > 0;) {
      std::vector<double> piece(x.begin() + part * x.size() / parts, x.begin() + (part + 1) * x.size() / parts);
      std::vector<double> share = f.run({piece})[0].as<double>();
      std::transform(total.begin(), total.end(), share.begin(), total.begin(), std::plus<>());
    }
    EXPECT_EQ(total, all) << parts;
  }
}

// Infinities and NaN end up in the last bin, separate from all other values.
TEST(SquareSum, InfinityAndNaNComeThrough) {
  CompiledFunction f(ofOne(3000, "f32"));
  ASSERT_TRUE(f.ok());
  for (float strange : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> x = spreadValues<float>(3000);
    x[2000] = strange;
    std::vector<double> result = f.run({x})[0].as<double>();
    EXPECT_EQ(std::isnan(strange), std::isnan(result[55]));
    EXPECT_FALSE(std::isfinite(result[55]));
    std::fill(x.begin() + 1024, x.begin() + 2048, 0.0f);
    std::vector<double> others = expected(x);
    EXPECT_TRUE(std::equal(others.begin(), others.end() - 1, result.begin()));
  }
}

// The shape of a parameter does not matter, only its elements' row-major order.
TEST(SquareSum, BlocksCrossRows) {
  CompiledFunction f(module("", tensorText("seq=3 embed=700", "f32"), tensorText("bin=56", "f64")));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = spreadValues<float>(2100);
  EXPECT_EQ(f.run({x})[0].as<double>(), expected(x));
}

// The first of the replicas along tp counts; what the others hold is not looked at.
TEST(SquareSum, OnlyTheOwnerCounts) {
  CompiledFunction f(module("dist.mesh = #dist.mesh<dp = 2, tp = 2>", "tensor<2000xf32, #dist.layout<embed : 2000>>",
                            "tensor<56xf64, #dist.layout<bin : 56, partial = {tp : sum}>>"));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = spreadValues<float>(2000), strange(2000, NAN);
  for (int64_t dp : {0, 1}) {
    EXPECT_EQ(f.run({x}, {0, 0, 1, dp, 0})[0].as<double>(), expected(x));
    EXPECT_EQ(f.run({strange}, {0, 0, 1, dp, 1})[0].as<double>(), std::vector<double>(56));
  }
}

// A flat piece is no replica: every rank along its axes counts.
TEST(SquareSum, EveryShareCounts) {
  CompiledFunction f(module("dist.mesh = #dist.mesh<dp = 2, tp = 2>", "tensor<1024xf32, #dist.layout<embed : 2000, flat = {tp}>>",
                            "tensor<56xf64, #dist.layout<bin : 56, partial = {tp : sum}>>"));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = spreadValues<float>(1024);
  for (int64_t tp : {0, 1})
    EXPECT_EQ(f.run({x}, {0, 0, 1, 1, tp})[0].as<double>(), expected(x));
}

// A shard's padding enters as the zeros that placing leaves there, and keeps its place in the blocks.
TEST(SquareSum, PaddingIsZeroAlready) {
  CompiledFunction f(module("dist.mesh = #dist.mesh<tp = 2>", "tensor<300x4xf32, #dist.layout<seq : 300, vocab : 7 {tp}>>",
                            "tensor<56xf64, #dist.layout<bin : 56, partial = {tp : sum}>>"));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = spreadValues<float>(1200);
  EXPECT_EQ(f.run({x}, {0, 0, 1, 0})[0].as<double>(), expected(x));
  for (size_t row = 0; row < 300; ++row)
    x[row * 4 + 3] = 0;
  EXPECT_EQ(f.run({x}, {0, 0, 1, 1})[0].as<double>(), expected(x));
}
