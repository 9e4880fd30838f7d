// The texts that the tool for comparing kernels on a GPU reads, and the differences that it counts.
#include "tests/engine/backends/gpu/RandomBuffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

using namespace npar::engine;
using namespace npar::engine::cuda;

TEST(KernelText, ReadsLaunches) {
  auto kernels = readKernelLines("// npar kernels sm_90\n// kernel add_0 threads 64 rows 4 extent 80 : f32[96] i32[8] -> bf16[96] f64[1] "
                                 "inplace 0=0 inplace 1=3\n// kernel scores_0 threads 64 rows 4 extent 32 many : f32[8] -> f32[8]\n"
                                 "// kernel learning_rate_0 threads 64 rows 64 extent 1 : -> f64[1]\n.version 8.1\n// kernel no\n");
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  ASSERT_EQ(kernels->size(), 3u);
  const GpuKernel &add = (*kernels)[0];
  EXPECT_EQ(add.name, "add_0");
  EXPECT_EQ(add.threads, 64u);
  EXPECT_EQ(add.rows, 4u);
  EXPECT_EQ(add.extent, 80);
  EXPECT_EQ(add.operands, 2u);
  ASSERT_EQ(add.buffers.size(), 4u);
  EXPECT_EQ(add.buffers[2].bytes(), 192u);
  EXPECT_EQ(add.inplace, (std::vector<std::pair<size_t, size_t>>{{0, 0}, {1, 3}}));
  EXPECT_FALSE(add.many);
  EXPECT_TRUE((*kernels)[1].many);
  EXPECT_EQ((*kernels)[1].buffers.size(), 2u);
  EXPECT_EQ((*kernels)[2].operands, 0u);
  EXPECT_FALSE(readKernelLines(".version 8.1\n").ok());
  EXPECT_FALSE(readKernelLines("// npar kernels sm_90\n// kernel add_0 threads 64\n").ok());
  EXPECT_FALSE(readKernelLines("// npar kernels sm_90\n// kernel add_0 host : -> f64[1]\n").ok()); // of an npar before this one
}

// Infinities, NaNs, denormals and both zeros come in every type of floats; integers stay below the bound.
TEST(RandomBuffer, HoldsEveryKind) {
  for (const char *type : {"f64", "f32", "bf16", "f16"}) {
    KernelBuffer buffer{type, 20000};
    std::vector<uint8_t> special(buffer.bytes()), ordinary(buffer.bytes());
    std::mt19937_64 random(1);
    fillBuffer(buffer, special.data(), random, 10, true);
    fillBuffer(buffer, ordinary.data(), random, 10, false);
    bool wide = buffer.elementBytes() == 8;
    int fraction = wide ? 52 : buffer.type == "f32" ? 23 : buffer.type == "bf16" ? 7 : 10;
    int exponent = wide ? 11 : buffer.type == "f16" ? 5 : 8;
    auto kinds = [&](const std::vector<uint8_t> &bytes) {
      bool infinity = false, nan = false, denormal = false, minus = false;
      for (size_t i = 0; i < buffer.count; ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + i * buffer.elementBytes(), buffer.elementBytes());
        uint64_t field = bits >> fraction & ((uint64_t{1} << exponent) - 1), rest = bits & ((uint64_t{1} << fraction) - 1);
        bool last = field == (uint64_t{1} << exponent) - 1;
        infinity |= last && rest == 0, nan |= last && rest != 0, denormal |= field == 0 && rest != 0;
        minus |= field == 0 && rest == 0 && bits != 0;
      }
      return std::array<bool, 4>{infinity, nan, denormal, minus};
    };
    EXPECT_EQ(kinds(special), (std::array<bool, 4>{true, true, true, true})) << type;
    auto [infinity, nan, denormal, minus] = kinds(ordinary);
    EXPECT_FALSE(infinity || nan || denormal) << type;
  }
  KernelBuffer integers{"i32", 1000};
  std::vector<int32_t> values(1000);
  std::mt19937_64 random(1);
  fillBuffer(integers, reinterpret_cast<uint8_t *>(values.data()), random, 10, true);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 10);
}

// Two NaNs are equal; a NaN and a number differ, and so do zeros of different signs.
TEST(RandomBuffer, Differences) {
  KernelBuffer buffer{"f32", 4};
  float quiet = std::numeric_limits<float>::quiet_NaN();
  float left[] = {1, quiet, 0.0f, quiet}, right[] = {1, -quiet, -0.0f, 1};
  auto bytes = [](float *values) { return reinterpret_cast<uint8_t *>(values); };
  EXPECT_EQ(countDifferences(buffer, bytes(left), bytes(left)), 0u);
  EXPECT_EQ(countDifferences(buffer, bytes(left), bytes(right)), 2u);
}
