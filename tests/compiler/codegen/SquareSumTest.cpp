// Sums of squares in the written order, bit for bit: blocks of 1,024 elements, 16 lanes in a block, block sums in ascending order.
#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace npar::codegen;

namespace {
template <typename T> std::vector<T> values(size_t count) {
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = std::sin(0.7 * i) * std::exp2(double(i % 23) - 11);
  return result;
}

template <typename T> double expected(const std::vector<T> &x) {
  double total = 0;
  for (size_t block = 0; block < x.size(); block += 1024) {
    double lanes[16] = {};
    for (size_t i = block; i < std::min(block + 1024, x.size()); ++i)
      lanes[i % 16] += double(x[i]) * double(x[i]);
    for (int half = 8; half >= 1; half /= 2)
      for (int i = 0; i < half; ++i)
        lanes[i] += lanes[i + half];
    total += lanes[0];
  }
  return total;
}

std::string module(const std::string &mesh, const std::string &gradient, const std::string &sums) {
  return "module attributes {" + mesh + "} { func.func @f(%g: " + gradient + ") -> " + sums +
         " {\n%s = nn.square_sums %g slots [1] of 3 : (" + gradient + ") -> " + sums + "\nreturn %s : " + sums + "\n} }";
}

template <typename T> void check(const std::string &element) {
  for (size_t size : {1, 7, 16, 1023, 1024, 1025, 5000}) {
    CompiledFunction f(module("", tensorText("embed=" + std::to_string(size), element), tensorText("param=3", "f64")));
    ASSERT_TRUE(f.ok());
    std::vector<T> x = values<T>(size);
    // Any partition of the blocks among workers.
    for (int64_t split : {1, 2, 3, 5})
      EXPECT_EQ(f.run({x}, {0, 0, 1}, split)[0].template as<double>(), (std::vector<double>{0, expected(x), 0})) << size << " in " << split;
  }
}
} // namespace

TEST(SquareSum, FollowsTheWrittenOrderInFloat32) { check<float>("f32"); }
TEST(SquareSum, FollowsTheWrittenOrderInFloat64) { check<double>("f64"); }

// The shape of a parameter does not matter, only its elements' row-major order.
TEST(SquareSum, BlocksCrossRows) {
  CompiledFunction f(module("", tensorText("seq=3 embed=700", "f32"), tensorText("param=3", "f64")));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = values<float>(2100);
  EXPECT_EQ(f.run({x})[0].as<double>()[1], expected(x));
}

// Of the replicas along tp the first counts; what the others hold is not looked at.
TEST(SquareSum, OnlyTheOwnerCounts) {
  CompiledFunction f(module("dist.mesh = #dist.mesh<dp = 2, tp = 2>", "tensor<2000xf32, #dist.layout<embed : 2000>>",
                            "tensor<3xf64, #dist.layout<param : 3, partial = {tp : sum}>>"));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = values<float>(2000), strange(2000, NAN);
  for (int64_t dp : {0, 1}) {
    EXPECT_EQ(f.run({x}, {0, 0, 1, dp, 0})[0].as<double>(), (std::vector<double>{0, expected(x), 0}));
    EXPECT_EQ(f.run({strange}, {0, 0, 1, dp, 1})[0].as<double>(), (std::vector<double>{0, 0, 0}));
  }
}

// A shard's padding enters as the zeros that placing leaves there, and keeps its place in the blocks.
TEST(SquareSum, PaddingIsZeroAlready) {
  CompiledFunction f(module("dist.mesh = #dist.mesh<tp = 2>", "tensor<300x4xf32, #dist.layout<seq : 300, vocab : 7 {tp}>>",
                            "tensor<3xf64, #dist.layout<param : 3, partial = {tp : sum}>>"));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = values<float>(1200);
  EXPECT_EQ(f.run({x}, {0, 0, 1, 0})[0].as<double>()[1], expected(x));
  for (size_t row = 0; row < 300; ++row)
    x[row * 4 + 3] = 0;
  EXPECT_EQ(f.run({x}, {0, 0, 1, 1})[0].as<double>()[1], expected(x));
}
