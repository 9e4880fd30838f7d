// Products and reductions on a GPU have the bits that the processor gives them, on ordinary numbers and on denormals, infinities and NaNs.
#include "tests/engine/backends/Convolution.h"
#include "tests/engine/backends/cuda/BothBackends.h"

#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;
using program::Grouping;
using program::ReduceOp;

// Reductions have any number of sources and numbers of every kind, and write in place or to all sources.
TEST(CudaNumbers, ReductionsHaveTheBitsOfTheProcessor) {
  auto cpu = makeBackend("cpu"), cuda = makeBackend("cuda");
  for (ElementType type : program::EnumValuesElementType())
    for (ReduceOp op : program::EnumValuesReduceOp())
      for (size_t sources : {1, 2, 5}) {
        size_t count = 300;
        std::vector<BothBuffer> all;
        for (size_t i = 0; i <= sources; ++i)
          all.emplace_back(type, count, 10 * sources + i, /*special=*/true);
        auto reduce = [&](Backend &backend, const std::vector<DeviceAddress> &places) {
          DeviceAddress targets[] = {places[0], places.back()};
          backend.reduce(type, op, places.data(), sources, targets, 2, count);
        };
        auto expected = after(*cpu, all, reduce), found = after(*cuda, all, reduce);
        expectSameBits(expected, found, std::string(wordOf(type)) + " " + program::EnumNameReduceOp(op) + " of " + std::to_string(sources));
      }
}

TEST(CudaNumbers, AReductionMayHaveManySources) {
  auto cpu = makeBackend("cpu"), cuda = makeBackend("cuda");
  std::vector<BothBuffer> all;
  for (size_t i = 0; i < 400; ++i)
    all.emplace_back(ElementType::BF16, 3, i, /*special=*/false);
  auto reduce = [&](Backend &backend, const std::vector<DeviceAddress> &places) {
    backend.reduce(ElementType::BF16, ReduceOp::Sum, places.data(), places.size(), places.data(), 80, 3);
  };
  auto expected = after(*cpu, all, reduce), found = after(*cuda, all, reduce);
  expectSameBits(expected, found, "400 sources");
}

struct Shape {
  int64_t m, n, k;
};

program::MatmulT productOf(const Shape &shape, ElementType type, ElementType result, int flags) {
  program::MatmulT p;
  bool transposeA = flags & 1, transposeB = flags & 2;
  p.type = type, p.result = result, p.accumulate = flags & 4;
  p.m = shape.m, p.n = shape.n, p.k = shape.k;
  p.a_row = transposeA ? 1 : p.k, p.a_column = transposeA ? p.m : 1;
  p.b_row = transposeB ? 1 : p.n, p.b_column = transposeB ? p.k : 1;
  p.c_row = p.n;
  return p;
}

/// The rows of each group in each sample.
struct Ranges {
  std::vector<int32_t> first, last;
};

void expectProduct(const program::MatmulT &p, size_t a, size_t b, size_t c, bool special, const Ranges &ranges = {}) {
  auto cpu = makeBackend("cpu"), cuda = makeBackend("cuda");
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(p));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  for (Backend *backend : {cpu.get(), cuda.get()})
    ASSERT_TRUE(backend->load(*program::GetProgram(builder.GetBufferPointer())).ok());
  std::vector<BothBuffer> all = {{p.type, a, 1, special}, {p.type, b, 2, special}};
  for (const std::vector<int32_t> &bounds : {ranges.first, ranges.last})
    if (!bounds.empty()) {
      all.emplace_back(ElementType::I32, bounds.size(), 0);
      std::memcpy(all.back().bytes.data(), bounds.data(), all.back().bytes.size());
    }
  all.emplace_back(p.result, c, 3, special);
  auto multiply = [&](Backend &backend, const std::vector<DeviceAddress> &at) {
    Status status = p.grouping == Grouping::None ? backend.runMatmul(0, at[0], at[1], at[2]) : backend.runGrouped(0, at.data());
    EXPECT_TRUE(status.ok()) << status.message();
  };
  auto expected = after(*cpu, all, multiply), found = after(*cuda, all, multiply);
  expectSameBits(expected, found,
                 std::string(wordOf(p.type)) + " to " + wordOf(p.result) + " " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
                     std::to_string(p.k) + " a " + std::to_string(p.a_column) + " b " + std::to_string(p.b_column));
}

constexpr std::pair<ElementType, ElementType> kindsOfProducts[] = {
    {ElementType::F32, ElementType::F32}, {ElementType::F64, ElementType::F64},  {ElementType::BF16, ElementType::BF16},
    {ElementType::F16, ElementType::F16}, {ElementType::BF16, ElementType::F32}, {ElementType::F16, ElementType::F32}};

TEST(CudaNumbers, ProductsHaveTheBitsOfTheProcessor) {
  int flags = 0;
  for (auto [type, result] : kindsOfProducts)
    for (const Shape &shape : {Shape{1, 1, 1}, Shape{3, 70, 33}, Shape{65, 64, 40}, Shape{16, 5, 100}}) {
      program::MatmulT p = productOf(shape, type, result, flags++ % 8);
      expectProduct(p, size_t(p.m * p.k), size_t(p.k * p.n), size_t(p.m * p.n), /*special=*/false);
    }
}

program::MatmulT tf32(program::MatmulT p) {
  p.tf32 = true;
  return p;
}

TEST(CudaNumbers, ProductsInTf32HaveTheBitsOfTheProcessor) {
  for (int flags : {0, 3, 6})
    expectProduct(tf32(productOf({33, 70, 40}, ElementType::F32, ElementType::F32, flags)), 33 * 40, 40 * 70, 33 * 70, false);
  expectProduct(tf32(productOf({20, 20, 3}, ElementType::F32, ElementType::F32, 4)), 60, 60, 400, /*special=*/true);
}

// Each convolution with its gradients, in turn with the types of products and in TF32.
TEST(CudaNumbers, ConvolutionsHaveTheBitsOfTheProcessor) {
  size_t turn = 0;
  for (const Convolution &c : convolutions())
    for (ConvolutionKind kind : {ConvolutionKind::Forward, ConvolutionKind::ImageGradient, ConvolutionKind::WeightGradient}) {
      auto [type, result] = kindsOfProducts[turn++ % std::size(kindsOfProducts)];
      program::MatmulT p = productOf(c, kind, type, result);
      p.tf32 = type == ElementType::F32 && c.groups > 1;
      auto image = size_t(c.images()), out = size_t(c.results()), weights = size_t(c.weights());
      bool isForward = kind == ConvolutionKind::Forward, isOfImage = kind == ConvolutionKind::ImageGradient;
      expectProduct(p, isForward ? image : out, isForward || isOfImage ? weights : image,
                    isForward   ? out
                    : isOfImage ? image
                                : weights,
                    /*special=*/turn % 4 == 0);
    }
}

// No k counts, as spreading leaves a remainder everywhere: C stays as it is, or becomes zeros.
TEST(CudaNumbers, AConvolutionWithoutAnyK) {
  for (bool accumulates : {false, true}) {
    const Convolution c{1, 8, 1, 2, 1, 0, 0, 1, 4, 3, accumulates};
    program::MatmulT p = productOf(c, ConvolutionKind::ImageGradient, ElementType::F32, ElementType::F32);
    p.windowed->a->windows[0]->steps = {0, 2, 0, 0, 0, 0}, p.windowed->a->windows[0]->before = 1;
    expectProduct(p, size_t(c.results()), size_t(c.weights()), size_t(c.images()), /*special=*/false);
  }
}

// Operands that are denormal, as half of their exponents make many sums.
TEST(CudaNumbers, ProductsOfNumbersOfEveryKind) {
  for (auto [type, result] : kindsOfProducts) {
    program::MatmulT p = productOf({20, 20, 3}, type, result, 4);
    expectProduct(p, 60, 60, 400, /*special=*/true);
  }
}

// Five loops, of which the kernel has three, with an operand shared along two of them.
TEST(CudaNumbers, BatchesOfProducts) {
  program::MatmulT p = productOf({4, 3, 5}, ElementType::F32, ElementType::F32, 2);
  p.batch = {2, 1, 3, 2, 2};
  p.a_batch = {20 * 12, 20 * 12, 20 * 4, 20 * 2, 20};
  p.b_batch = {15 * 6, 0, 15 * 2, 0, 15};
  p.c_batch = {12 * 12, 12 * 12, 12 * 4, 12 * 2, 12};
  expectProduct(p, 20 * 24, 15 * 12, 12 * 24, false);
}

/// Products of `samples` x `rows` with matrices of `k` x `n`.
program::MatmulT groupedProduct(ElementType type, ElementType result, Grouping grouping, int64_t samples, int64_t groups, bool transposeB) {
  constexpr int64_t rows = 150, k = 40, n = 70;
  program::MatmulT p;
  p.type = type, p.result = result, p.grouping = grouping, p.batch = {samples, groups};
  p.n = n, p.c_row = n;
  if (grouping == Grouping::Rows) {
    p.m = rows, p.k = k, p.a_row = k, p.a_column = 1, p.b_row = transposeB ? 1 : n, p.b_column = transposeB ? k : 1;
    p.a_batch = {rows * k, 0}, p.b_batch = {0, k * n}, p.c_batch = {rows * n, 0};
  } else {
    p.m = k, p.k = rows, p.a_row = 1, p.a_column = k, p.b_row = n, p.b_column = 1;
    p.a_batch = {rows * k, 0}, p.b_batch = {rows * n, 0}, p.c_batch = {0, k * n};
  }
  return p;
}

// Groups that end within tiles, groups of one row and without rows, rows of no group, a sample without rows, and bounds that are no rows.
TEST(CudaNumbers, GroupedProductsHaveTheBitsOfTheProcessor) {
  const Ranges ranges = {{0, 30, 31, 31, 0, 0, 0, 0, -7, 100, 100, 149}, {30, 31, 31, 150, 0, 0, 0, 0, 100, 100, 140, 9000}};
  bool transposeB = false;
  for (auto [type, result] : kindsOfProducts)
    for (Grouping grouping : {Grouping::Rows, Grouping::Depth}) {
      if (grouping == Grouping::Depth && result != program::widened(type))
        continue;
      program::MatmulT p = groupedProduct(type, result, grouping, 3, 4, transposeB = !transposeB);
      p.accumulate = grouping == Grouping::Depth && transposeB;
      bool byRows = grouping == Grouping::Rows;
      expectProduct(p, 3 * 150 * 40, byRows ? 4 * 40 * 70 : 3 * 150 * 70, byRows ? 3 * 150 * 70 : 4 * 40 * 70, /*special=*/false, ranges);
    }
}

} // namespace
} // namespace npar::testing
