// Matrix products: right, the same bits for any number of threads, within the scratch memory that was promised.
#include "engine/backends/cpu/Matmul.h"
#include "engine/backends/cpu/ConvertedMatmul.h"
#include "engine/backends/cpu/CpuBackend.h"
#include "engine/numbers/NarrowFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;

struct Operands {
  explicit Operands(const MatmulShape &s) : a(size(s.m, s.k)), b(size(s.k, s.n)), c(static_cast<size_t>(s.m * s.cRow)) {
    fill(a, 1), fill(b, 2), fill(c, 3);
  }
  static size_t size(int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); }
  static void fill(std::vector<float> &values, uint32_t seed) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(std::sin(double(i * 2654435761u % 1000003u + seed)));
  }
  std::vector<float> a, b, c;
};

MatmulShape shapeOf(int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB, bool accumulate) {
  MatmulShape s;
  s.m = m, s.n = n, s.k = k, s.accumulate = accumulate;
  s.aRow = transposeA ? 1 : k, s.aColumn = transposeA ? m : 1;
  s.bRow = transposeB ? 1 : n, s.bColumn = transposeB ? k : 1;
  s.cRow = n;
  return s;
}

std::vector<MatmulShape> shapes() {
  std::vector<MatmulShape> all;
  int64_t sizes[][3] = {{1, 1, 1},     {1, 64, 32},     {64, 1, 32},     {64, 32, 1},      {32, 32, 16},    {128, 128, 32}, {256, 64, 256},
                        {255, 63, 65}, {512, 256, 768}, {1024, 192, 64}, {200, 257, 1000}, {96, 1024, 256}, {64, 64, 4096}};
  for (auto &size : sizes)
    for (int flags = 0; flags < 8; ++flags)
      all.push_back(shapeOf(size[0], size[1], size[2], flags & 1, flags & 2, flags & 4));
  return all;
}

std::string text(const MatmulShape &s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " a " + std::to_string(s.aColumn) + " b " +
         std::to_string(s.bColumn) + (s.accumulate ? " accumulate" : "");
}

/// Runs with scratch memory of exactly the promised size, followed by a guard.
void run(const MatmulShape &s, const float *a, const float *b, float *c) {
  auto matmul = Matmul::create(s);
  ASSERT_TRUE(matmul.ok()) << matmul.status().message();
  size_t bytes = (*matmul)->scratchBytes();
  std::unique_ptr<uint8_t, decltype(&std::free)> scratch(static_cast<uint8_t *>(std::aligned_alloc(64, bytes + 64)), std::free);
  std::memset(scratch.get(), 0x5A, bytes + 64);
  Status status = (*matmul)->run(a, b, c, scratch.get());
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = bytes; i < bytes + 64; ++i)
    ASSERT_EQ(scratch.get()[i], 0x5A) << "written beyond the scratch memory";
}

TEST(MatmulTest, agreesWithPlainLoops) {
  for (const MatmulShape &s : shapes()) {
    Operands x(s);
    std::vector<float> before = x.c;
    run(s, x.a.data(), x.b.data(), x.c.data());
    for (int64_t i = 0; i < s.m; i += std::max<int64_t>(s.m / 7, 1))
      for (int64_t j = 0; j < s.n; j += std::max<int64_t>(s.n / 7, 1)) {
        double sum = s.accumulate ? before[static_cast<size_t>(i * s.cRow + j)] : 0, largest = 1;
        for (int64_t k = 0; k < s.k; ++k) {
          sum += double(x.a[static_cast<size_t>(i * s.aRow + k * s.aColumn)]) * x.b[static_cast<size_t>(k * s.bRow + j * s.bColumn)];
          largest = std::max(largest, std::abs(sum));
        }
        ASSERT_NEAR(x.c[static_cast<size_t>(i * s.cRow + j)], sum, 1e-5 * largest * std::sqrt(double(s.k)))
            << text(s) << " at " << i << ", " << j;
      }
  }
}

TEST(MatmulTest, workspaceCoversEverySplit) {
  for (const MatmulShape &s : shapes()) {
    uint64_t bytes = matmulWorkspace(s);
    EXPECT_EQ(bytes % 64, 0u);
    EXPECT_GE(bytes, (*Matmul::create(s))->scratchBytes());
  }
}

TEST(MatmulTest, stridesWiderThanTheMatrix) { // the middle third of packed q, k, v
  MatmulShape s = shapeOf(40, 24, 16, false, true, false);
  s.aRow = 48, s.bColumn = 48, s.cRow = 72;
  std::vector<float> a(40 * 48), b(24 * 48), c(40 * 72, 7);
  Operands::fill(a, 1), Operands::fill(b, 2);
  run(s, a.data() + 16, b.data() + 16, c.data() + 24);
  for (int64_t i = 0; i < 40; ++i)
    for (int64_t j = 0; j < 72; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 16 && j >= 24 && j < 48; ++k)
        sum += double(a[static_cast<size_t>(16 + i * 48 + k)]) * b[static_cast<size_t>(16 + (j - 24) * 48 + k)];
      ASSERT_NEAR(c[static_cast<size_t>(i * 72 + j)], j >= 24 && j < 48 ? sum : 7, 1e-4);
    }
}

TEST(MatmulTest, float64IsPlain) {
  MatmulShape s = shapeOf(3, 2, 4, false, true, true);
  s.type = s.result = program::ElementType::F64;
  std::vector<double> a{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b{1, 0, 0, 0, 0, 1, 0, 1}, c{1, 1, 1, 1, 1, 1};
  ASSERT_TRUE((*Matmul::create(s))->run(a.data(), b.data(), c.data(), nullptr).ok());
  EXPECT_EQ(c, (std::vector<double>{2, 7, 6, 15, 10, 23}));
}

/// 16-bit operands: exact in float32, added there (C's old value too), rounded once.
template <typename Narrow> void expectNarrowProduct(MatmulShape s, Result<std::shared_ptr<Matmul>> (*create)(const MatmulShape &)) {
  auto fill = [](size_t count, uint32_t seed) {
    std::vector<float> wide(count);
    Operands::fill(wide, seed);
    std::vector<Narrow> all;
    for (float value : wide)
      all.push_back(Narrow(value));
    return all;
  };
  std::vector<Narrow> a = fill(Operands::size(s.m, s.k), 1), b = fill(Operands::size(s.k, s.n), 2), c = fill(Operands::size(s.m, s.n), 3);
  std::vector<float> wideC;
  for (Narrow value : c)
    wideC.push_back(static_cast<float>(value));
  bool wide = s.result == program::ElementType::F32;
  auto matmul = create(s);
  ASSERT_TRUE(matmul.ok()) << matmul.status().message();
  size_t bytes = (*matmul)->scratchBytes();
  std::unique_ptr<uint8_t, decltype(&std::free)> scratch(static_cast<uint8_t *>(std::aligned_alloc(64, bytes + 64)), std::free);
  std::memset(scratch.get(), 0x5A, bytes + 64);
  void *target = wide ? static_cast<void *>(wideC.data()) : c.data();
  std::vector<float> before = wideC;
  ASSERT_TRUE((*matmul)->run(a.data(), b.data(), target, scratch.get()).ok());
  for (size_t i = bytes; i < bytes + 64; ++i)
    ASSERT_EQ(scratch.get()[i], 0x5A) << "written beyond the scratch memory";
  double unit = wide ? 0x1p-24 : std::is_same_v<Narrow, program::BFloat16> ? 0x1p-8 : 0x1p-11; // half a unit in the last place
  for (int64_t i = 0; i < s.m; i += std::max<int64_t>(s.m / 7, 1))
    for (int64_t j = 0; j < s.n; j += std::max<int64_t>(s.n / 7, 1)) {
      size_t place = static_cast<size_t>(i * s.cRow + j);
      double sum = s.accumulate ? before[place] : 0, size = std::abs(sum);
      for (int64_t k = 0; k < s.k; ++k) {
        double term = double(static_cast<float>(a[static_cast<size_t>(i * s.aRow + k * s.aColumn)])) *
                      static_cast<float>(b[static_cast<size_t>(k * s.bRow + j * s.bColumn)]);
        sum += term, size += std::abs(term);
      }
      // One rounding of the result, and float32's of the sum.
      ASSERT_NEAR(wide ? wideC[place] : static_cast<float>(c[place]), sum, unit * std::abs(sum) * 1.001 + 1e-6 * size)
          << text(s) << " at " << i << ", " << j;
    }
}

TEST(MatmulTest, sixteenBitOperandsRoundOnce) {
  std::vector<MatmulShape> all;
  int64_t sizes[][3] = {{1, 64, 32}, {64, 1, 32}, {255, 63, 65}};
  for (auto &size : sizes)
    for (int flags = 0; flags < 8; ++flags)
      all.push_back(shapeOf(size[0], size[1], size[2], flags & 1, flags & 2, flags & 4));
  for (int flags : {0, 3, 5}) // more than one block in every direction, with remainders
    all.push_back(shapeOf(260, 257, 1030, flags & 1, flags & 2, flags & 4));
  for (MatmulShape s : all)
    for (bool wide : {false, true}) {
      s.type = program::ElementType::BF16, s.result = wide ? program::ElementType::F32 : s.type;
      expectNarrowProduct<program::BFloat16>(s, Matmul::create);
      expectNarrowProduct<program::BFloat16>(s, createConvertedMatmul<program::BFloat16>);
      s.type = program::ElementType::F16, s.result = wide ? program::ElementType::F32 : s.type;
      expectNarrowProduct<program::Float16>(s, Matmul::create);
    }
}

// One block along k adds to nothing: an accumulating float32 product, for which the library may want more memory, is not made.
TEST(MatmulTest, sixteenBitOperandsNeedWhatTheirBlocksNeed) {
  constexpr int64_t k = 1024;
  MatmulShape s = shapeOf(1, 1, k, false, false, true);
  uint64_t panels = sizeof(float) * (k + k + 16), plain = (*Matmul::create(shapeOf(1, 1, k, false, false, false)))->scratchBytes();
  s.type = s.result = program::ElementType::BF16;
  EXPECT_EQ((*createConvertedMatmul<program::BFloat16>(s))->scratchBytes(), (plain + panels + 63) / 64 * 64);
  EXPECT_LE((*createConvertedMatmul<program::BFloat16>(s))->scratchBytes(), matmulWorkspace(s));
}

TEST(MatmulTest, refusesWhatItCannotDo) {
  MatmulShape s = shapeOf(4, 4, 4, false, false, false);
  s.aColumn = 2;
  EXPECT_EQ(Matmul::create(s).status().message(), "matrix product 4x4x4: neither the row nor the column stride of an operand is 1");
  EXPECT_FALSE(Matmul::create(shapeOf(0, 4, 4, false, false, false)).ok());
}

/// A program of one batched product of batch 3 x 2, B shared along the first, run by backends with several numbers of threads.
void expectSameBitsForAnyThreads(int64_t m, int64_t n, int64_t k, bool transposeA) {
  MatmulShape shape = shapeOf(m, n, k, transposeA, true, false);
  program::ProgramT content;
  auto matmul = std::make_unique<program::MatmulT>();
  matmul->m = m, matmul->n = n, matmul->k = k, matmul->batch = {3, 2};
  matmul->a_batch = {2 * m * k, m * k}, matmul->a_row = shape.aRow, matmul->a_column = shape.aColumn;
  matmul->b_batch = {0, k * n}, matmul->b_row = 1, matmul->b_column = k;
  matmul->c_batch = {2 * m * n, m * n}, matmul->c_row = n;
  matmul->workspace = matmulWorkspace(shape);
  content.matmuls.push_back(std::move(matmul));
  std::vector<float> a(static_cast<size_t>(6 * m * k)), b(static_cast<size_t>(2 * k * n)), expected(static_cast<size_t>(6 * m * n));
  Operands::fill(a, 1), Operands::fill(b, 2);
  for (int64_t i = 0; i < 6; ++i)
    run(shape, a.data() + i * m * k, b.data() + i % 2 * k * n, expected.data() + i * m * n);
  std::vector<float> first;
  for (int threads : {1, 2, 4}) {
    flatbuffers::FlatBufferBuilder builder;
    FinishProgramBuffer(builder, CreateProgram(builder, &content));
    CpuBackend backend(Spread{threads, threads > 1});
    Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<float> c(expected.size());
    std::vector<uint8_t> scratch(content.matmuls[0]->workspace + 64);
    void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
    ASSERT_TRUE(
        backend.runMatmul(0, DeviceAddress(a.data()), DeviceAddress(b.data()), DeviceAddress(c.data()), DeviceAddress(aligned)).ok());
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_NEAR(c[i], expected[i], 1e-3);
    if (first.empty())
      first = c;
    EXPECT_EQ(std::memcmp(c.data(), first.data(), c.size() * 4), 0) << threads << " threads";
  }
}

TEST(CpuBackendTest, productHasTheSameBitsForAnyThreads) {
  expectSameBitsForAnyThreads(512, 96, 128, false);
  expectSameBitsForAnyThreads(512, 96, 768, false);
  expectSameBitsForAnyThreads(512, 96, 768, true);
  expectSameBitsForAnyThreads(250, 300, 1100, true);
}

TEST(CpuBackendTest, refusesTooLittleWorkspace) {
  std::vector<MatmulShape> all = shapes();
  auto hungry = std::find_if(all.begin(), all.end(), [](const MatmulShape &s) { return (*Matmul::create(s))->scratchBytes() > 0; });
  if (hungry == all.end())
    GTEST_SKIP() << "on this processor the library needs no workspace for any of the shapes";
  program::ProgramT content;
  auto matmul = std::make_unique<program::MatmulT>();
  matmul->m = hungry->m, matmul->n = hungry->n, matmul->k = hungry->k, matmul->a_row = hungry->aRow, matmul->a_column = hungry->aColumn;
  matmul->b_row = hungry->bRow, matmul->b_column = hungry->bColumn, matmul->c_row = hungry->cRow, matmul->accumulate = hungry->accumulate;
  content.matmuls.push_back(std::move(matmul));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  CpuBackend backend(Spread{});
  Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
  EXPECT_EQ(status.code(), Code::BadInput);
  EXPECT_NE(status.message().find("bytes of workspace on this machine, but 0 are planned"), std::string::npos) << status.message();
}

TEST(CpuBackendTest, missingFeaturesAreNamed) {
  EXPECT_TRUE(checkTargetFeatures("").ok());
  EXPECT_TRUE(checkTargetFeatures("-avx512f,+unheardof").ok());
}

} // namespace
} // namespace npar::testing
