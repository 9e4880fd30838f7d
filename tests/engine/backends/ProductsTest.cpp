// Batches of products: they are right at every place in memory and have the same bits for every number of workers and every instruction
// set. Others are refused.
#include "engine/backends/Backends.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using engine::BFloat16, program::ElementType, engine::Float16;

program::MatmulT productOf(int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB, bool accumulate) {
  program::MatmulT p;
  p.type = p.result = ElementType::F32;
  p.m = m, p.n = n, p.k = k, p.accumulate = accumulate;
  p.a_row = transposeA ? 1 : k, p.a_column = transposeA ? m : 1;
  p.b_row = transposeB ? 1 : n, p.b_column = transposeB ? k : 1;
  p.c_row = n;
  return p;
}

std::string text(const program::MatmulT &p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " a " + std::to_string(p.a_column) + " b " +
         std::to_string(p.b_column) + (p.accumulate ? " accumulate" : "");
}

Status load(CpuBackend &backend, const program::MatmulT &product) {
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(product));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  return backend.load(*program::GetProgram(builder.GetBufferPointer()));
}

void run(const program::MatmulT &product, const Spread &spread, const void *a, const void *b, void *c,
         program::ProductOrder order = program::ProductOrder::Portable) {
  CpuBackend backend(spread, order);
  Status status = load(backend, product);
  ASSERT_TRUE(status.ok()) << status.message();
  auto address = [](const void *memory) { return DeviceAddress(const_cast<void *>(memory)); };
  ASSERT_TRUE(backend.runMatmul(0, address(a), address(b), address(c)).ok());
}

template <typename T> std::vector<T> values(int64_t count, uint32_t seed) {
  std::vector<T> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = T(static_cast<float>(std::sin(double(i * 2654435761u % 1000003u + seed))));
  return all;
}

size_t at(int64_t place) { return static_cast<size_t>(place); }

/// One chain of fma over ascending k, then C's old value, then one rounding to C's type.
template <typename In, typename Sum, typename Out>
Out elementOf(const program::MatmulT &p, const std::vector<In> &a, const std::vector<In> &b, Out old, int64_t i, int64_t j) {
  Sum sum = 0;
  for (int64_t k = 0; k < p.k; ++k)
    sum = std::fma(Sum(a[at(i * p.a_row + k * p.a_column)]), Sum(b[at(k * p.b_row + j * p.b_column)]), sum);
  return Out(p.accumulate ? sum + Sum(old) : sum);
}

template <typename In, typename Sum, typename Out> void expectChains(program::MatmulT p, ElementType type, ElementType result) {
  p.type = type, p.result = result;
  std::vector<In> a = values<In>(p.m * p.k, 1), b = values<In>(p.k * p.n, 2);
  std::vector<Out> before = values<Out>(p.m * p.n, 3), c = before;
  run(p, {2, true}, a.data(), b.data(), c.data());
  for (int64_t i = 0; i < p.m; i += std::max<int64_t>(p.m / 7, 1))
    for (int64_t j = 0; j < p.n; j += std::max<int64_t>(p.n / 7, 1)) {
      size_t place = at(i * p.c_row + j);
      Out expected = elementOf<In, Sum, Out>(p, a, b, before[place], i, j);
      ASSERT_EQ(std::memcmp(&c[place], &expected, sizeof(Out)), 0) << text(p) << " at " << i << ", " << j;
    }
}

std::vector<program::MatmulT> shapes() {
  std::vector<program::MatmulT> all;
  int64_t sizes[][3] = {{1, 1, 1},     {1, 64, 32},     {64, 1, 32},     {64, 32, 1},      {32, 32, 16},    {128, 128, 32}, {256, 64, 256},
                        {255, 63, 65}, {512, 256, 768}, {1024, 192, 64}, {200, 257, 1000}, {96, 1024, 256}, {64, 64, 4096}};
  for (auto &size : sizes)
    for (int flags = 0; flags < 8; ++flags)
      all.push_back(productOf(size[0], size[1], size[2], flags & 1, flags & 2, flags & 4));
  return all;
}

TEST(ProductsTest, chainsOfFma) {
  for (const program::MatmulT &p : shapes()) {
    expectChains<float, float, float>(p, ElementType::F32, ElementType::F32);
    expectChains<double, double, double>(p, ElementType::F64, ElementType::F64);
    expectChains<Float16, float, Float16>(p, ElementType::F16, ElementType::F16);
    expectChains<Float16, float, float>(p, ElementType::F16, ElementType::F32);
  }
}

/// Near what float64 says; which bits, the tests of engine/product compare.
template <typename Out> void expectNear(program::MatmulT p, double halfUnit) {
  std::vector<BFloat16> a = values<BFloat16>(p.m * p.k, 1), b = values<BFloat16>(p.k * p.n, 2);
  std::vector<Out> before = values<Out>(p.m * p.n, 3), c = before;
  run(p, {2, true}, a.data(), b.data(), c.data());
  for (int64_t i = 0; i < p.m; i += std::max<int64_t>(p.m / 7, 1))
    for (int64_t j = 0; j < p.n; j += std::max<int64_t>(p.n / 7, 1)) {
      size_t place = at(i * p.c_row + j);
      double sum = p.accumulate ? static_cast<float>(before[place]) : 0, size = std::abs(sum);
      for (int64_t k = 0; k < p.k; ++k) {
        double term =
            double(static_cast<float>(a[at(i * p.a_row + k * p.a_column)])) * static_cast<float>(b[at(k * p.b_row + j * p.b_column)]);
        sum += term, size += std::abs(term);
      }
      ASSERT_NEAR(static_cast<float>(c[place]), sum, halfUnit * std::abs(sum) * 1.001 + 1e-6 * size) << text(p) << " at " << i << ", " << j;
    }
}

TEST(ProductsTest, bf16RoundsOnce) {
  for (program::MatmulT p : shapes()) {
    p.type = p.result = ElementType::BF16;
    expectNear<BFloat16>(p, 0x1p-8);
    p.result = ElementType::F32;
    expectNear<float>(p, 0x1p-24);
  }
}

TEST(ProductsTest, stridesWiderThanTheMatrix) { // the middle third of packed q, k, v
  program::MatmulT p = productOf(40, 24, 16, false, true, false);
  p.a_row = 48, p.b_column = 48, p.c_row = 72;
  std::vector<float> a = values<float>(40 * 48, 1), b = values<float>(24 * 48, 2), c(40 * 72, 7);
  run(p, {}, a.data() + 16, b.data() + 16, c.data() + 24);
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 72; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < 16; ++k)
        sum = std::fma(a[at(16 + i * 48 + k)], b[at(16 + std::clamp<int64_t>(j - 24, 0, 23) * 48 + k)], sum);
      ASSERT_EQ(c[at(i * 72 + j)], j >= 24 && j < 48 ? sum : 7);
    }
}

/// A batch of 3 x 2, B shared along the first. Returns the results.
std::vector<float> expectSameBitsForAnyWorkers(ElementType type, int64_t m, int64_t n, int64_t k, bool transposeA,
                                               program::ProductOrder order = program::ProductOrder::Portable) {
  program::MatmulT p = productOf(m, n, k, transposeA, true, false);
  p.type = type;
  p.batch = {3, 2}, p.a_batch = {2 * m * k, m * k}, p.b_batch = {0, k * n}, p.c_batch = {2 * m * n, m * n};
  std::vector<float> a = values<float>(6 * m * k, 1), b = values<float>(2 * k * n, 2), first;
  std::vector<BFloat16> narrowA = values<BFloat16>(6 * m * k, 1), narrowB = values<BFloat16>(2 * k * n, 2);
  for (const char *set : {"plain", "avx2", "avx512", "pairs", "tiles"})
    for (int threads : {1, 2, 4, 16}) {
      ::setenv("NPAR_INSTRUCTIONS", set, 1); // what the processor lacks is masked anyway
      std::vector<float> c(at(6 * m * n), NAN);
      bool wide = type == ElementType::F32;
      run(p, {threads, threads > 1}, wide ? static_cast<void *>(a.data()) : narrowA.data(),
          wide ? static_cast<void *>(b.data()) : narrowB.data(), c.data(), order);
      if (first.empty())
        first = c;
      EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * 4), 0) << threads << " workers, " << set;
    }
  ::unsetenv("NPAR_INSTRUCTIONS");
  for (int64_t i = 0; i < 6; ++i) // each index of the list is a product of its own
    if (type == ElementType::F32) {
      program::MatmulT one = productOf(m, n, k, transposeA, true, false);
      std::vector<float> c(at(m * n));
      run(one, {}, a.data() + i * m * k, b.data() + i % 2 * k * n, c.data());
      EXPECT_EQ(std::memcmp(c.data(), first.data() + i * m * n, c.size() * 4), 0) << "index " << i;
    }
  return first;
}

TEST(ProductsTest, sameBitsForAnyWorkersAndInstructions) {
  expectSameBitsForAnyWorkers(ElementType::F32, 128, 96, 128, false);
  expectSameBitsForAnyWorkers(ElementType::F32, 250, 130, 600, true);
  expectSameBitsForAnyWorkers(ElementType::BF16, 128, 96, 128, false);
  expectSameBitsForAnyWorkers(ElementType::BF16, 250, 130, 600, true);
}

TEST(ProductsTest, theOrderDecidesTheBitsOfBf16Alone) {
  using program::ProductOrder;
  auto bits = [](ElementType type, ProductOrder order) { return expectSameBitsForAnyWorkers(type, 50, 30, 200, false, order); };
  EXPECT_NE(bits(ElementType::BF16, ProductOrder::Pairs), bits(ElementType::BF16, ProductOrder::Portable));
  EXPECT_EQ(bits(ElementType::F32, ProductOrder::Pairs), bits(ElementType::F32, ProductOrder::Portable));
}

TEST(ProductsTest, aBackendHasTheOrderThatItIsAskedForOrItsFastest) {
  using program::ProductOrder;
  EXPECT_EQ(*productOrder("cpu", ProductOrder::Pairs), ProductOrder::Pairs);
  EXPECT_EQ(*productOrder("cpu", ProductOrder::Portable), ProductOrder::Portable);
  ::setenv("NPAR_INSTRUCTIONS", "avx512", 1);
  EXPECT_EQ(*productOrder("cpu", ProductOrder::Fastest), ProductOrder::Portable);
  ::setenv("NPAR_INSTRUCTIONS", "sse", 1);
  EXPECT_EQ(productOrder("cpu", ProductOrder::Fastest).status().code(), Code::BadInput);
  ::unsetenv("NPAR_INSTRUCTIONS");
  EXPECT_EQ(*productOrder("null", ProductOrder::Fastest), ProductOrder::Portable);
  EXPECT_EQ(*productOrder("cuda", ProductOrder::Fastest), ProductOrder::Portable);
  EXPECT_EQ(productOrder("cuda", ProductOrder::Pairs).status().message(),
            "GPUs multiply bf16 in the portable order only: leave out 'products pairs'");
}

TEST(ProductsTest, refusesWhatItCannotDo) {
  auto refusal = [](const program::MatmulT &p) {
    CpuBackend backend(Spread{});
    Status status = load(backend, p);
    EXPECT_EQ(status.code(), Code::BadInput);
    return status.message();
  };
  program::MatmulT p = productOf(4, 4, 4, false, false, false);
  p.a_column = 2;
  EXPECT_EQ(refusal(p), "matrix product 0 (4x4x4): neither the row nor the column stride of an operand is 1");
  EXPECT_EQ(refusal(productOf(0, 4, 4, false, false, false)), "matrix product 0 (0x4x4) is empty");
  p = productOf(4, 4, 4, false, false, false), p.type = ElementType::I32;
  EXPECT_EQ(refusal(p), "matrix product 0 (4x4x4) is of i32, which is not multiplied");
  p = productOf(4, 4, 4, false, false, false), p.batch = {2};
  EXPECT_EQ(refusal(p), "matrix product 0 (4x4x4): its batch strides do not match its batch list");
  ::setenv("NPAR_INSTRUCTIONS", "sse", 1);
  EXPECT_EQ(refusal(productOf(4, 4, 4, false, false, false)), "NPAR_INSTRUCTIONS is 'sse'; use plain, avx2, avx512, pairs or tiles");
  ::unsetenv("NPAR_INSTRUCTIONS");
}

TEST(CpuBackendTest, missingFeaturesAreNamed) {
  EXPECT_TRUE(checkTargetFeatures("").ok());
  EXPECT_TRUE(checkTargetFeatures("x86_64-pc-linux-gnu x86-64 -avx512f,+sse3").ok());
  EXPECT_EQ(checkTargetFeatures("x86_64-pc-linux-gnu x86-64-v9 +sse3,+unheardof").message(),
            "the program's kernels need CPU features that this npar does not know: unheardof; compile the program with this npar");
  EXPECT_EQ(checkTargetFeatures("aarch64-unknown-linux-gnu generic +neon").message(),
            "the program's kernels are for aarch64-unknown-linux-gnu, not for this x86_64 processor; compile the program on this machine");
}

} // namespace
} // namespace npar::testing
