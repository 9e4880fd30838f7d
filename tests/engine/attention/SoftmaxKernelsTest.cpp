// Tests the instruction-set kernels of attention: their panels against those of products, their exp against a wider type's.
#include "tests/engine/attention/Definition.h"
#include "tests/engine/attention/GuardedScratch.h"

#include <cmath>
#include <limits>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

/// Compares the panels that attention writes of rounded numbers with those that the product packs: A's of [rows, columns], B's with rows as
/// k. AMX's packing needs AVX-512 only.
template <class In, class T> void checkPanels(ProductType type, const TileKernels &tiles, const SoftmaxKernels &kernels) {
  std::mt19937 random(12);
  constexpr int64_t columns = 96, stride = 101;
  for (int64_t used = 1; used <= tiles.rows; ++used) {
    std::vector<T> numbers(size_t(used * stride));
    std::vector<In> narrow;
    for (T &x : numbers)
      x = T(std::normal_distribution<float>()(random)), narrow.push_back(In(x));
    int64_t depth = (used + tiles.group - 1) / tiles.group * tiles.group;
    size_t bytes = size_t(std::max<int64_t>(tiles.rows, depth) * columns * tiles.packedBytes);
    GuardedScratch a(bytes), b(bytes), wantedA(bytes), wantedB(bytes);
    tiles.packA({narrow.data(), stride, false}, 0, used, 0, columns, wantedA.get());
    tiles.packB({narrow.data(), stride, false}, 0, used, 0, columns, wantedB.get());
    std::memset(a.get(), 0, bytes), std::memset(b.get(), 0, bytes);
    kernels.pack(numbers.data(), stride, int(used), 0, columns, a.get(), b.get(), 0, depth);
    EXPECT_EQ(std::memcmp(a.get(), wantedA.get(), size_t(tiles.rows * columns * tiles.packedBytes)), 0)
        << int(type) << ", " << used << " rows";
    EXPECT_EQ(std::memcmp(b.get(), wantedB.get(), size_t(depth * columns * tiles.packedBytes)), 0) << int(type) << ", " << used << " rows";
  }
}

TEST(SoftmaxKernelsTest, panelsAreThoseOfTheProduct) {
  for (InstructionSet set : availableInstructionSets()) {
    SCOPED_TRACE(wordOf(set));
    auto check = [set](auto in, auto sum, ProductType type) {
      checkPanels<decltype(in), decltype(sum)>(type, tileKernels(set, type), softmaxKernels(set, type));
    };
    check(float(), float(), ProductType::F32);
    check(double(), double(), ProductType::F64);
    check(BFloat16(), float(), ProductType::BF16);
    check(BFloat16(), float(), ProductType::BF16Pairs);
    check(Float16(), float(), ProductType::F16);
  }
  if (availableInstructionSets().back() >= InstructionSet::Avx512)
    checkPanels<BFloat16, float>(ProductType::BF16, tilesKernels(), tilesSoftmax());
}

/// The largest error of exp relative to exp in a wider type. An error of one smallest denormal is allowed, because tiny results have no
/// finer precision.
template <class T, class Exact> double worstExp(ProductType type, InstructionSet set, double from, double to, Exact) {
  constexpr int64_t count = 1 << 18;
  std::vector<T> x(count), y;
  for (int64_t i = 0; i < count; ++i)
    x[i] = T(from + (to - from) * double(i) / count);
  y = x;
  softmaxKernels(set, type).exponential(y.data(), count);
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    Exact exact = std::exp(Exact(x[i])), error = std::fabs(Exact(y[i]) - exact) - Exact(std::numeric_limits<T>::denorm_min());
    worst = std::max(worst, double(error / exact));
  }
  return worst;
}

TEST(SoftmaxKernelsTest, expIsThatOfAWiderType) {
  for (InstructionSet set : availableInstructionSets()) {
    if (set > InstructionSet::Avx512)
      continue; // the same as AVX-512's
    EXPECT_LT((worstExp<float>(ProductType::F32, set, -104, 88.7, double())), 1.5e-7) << wordOf(set);
    EXPECT_LT((worstExp<double>(ProductType::F64, set, -745, 709.7, 0.0L)), 3e-16) << wordOf(set);
    EXPECT_LT((worstExp<double>(ProductType::F64, set, -1, 1, 0.0L)), 3e-16) << wordOf(set);
    std::vector<float> x{INFINITY, -INFINITY, NAN, 0, -0.0f, 89.5f, -200, 1e-40f, -1e-40f, 3e38f, -3e38f};
    x.resize(16);
    std::vector<double> wide(x.begin(), x.end());
    softmaxKernels(set, ProductType::F32).exponential(x.data(), 16);
    for (int i : {0, 5, 9})
      EXPECT_EQ(x[i], INFINITY);
    for (int i : {1, 6, 10})
      EXPECT_EQ(x[i], 0);
    for (int i : {3, 4, 7, 8})
      EXPECT_EQ(x[i], 1);
    EXPECT_TRUE(std::isnan(x[2]));
    softmaxKernels(set, ProductType::F64).exponential(wide.data(), 16);
    EXPECT_EQ(wide[0], INFINITY);
    EXPECT_EQ(wide[1], 0);
    EXPECT_TRUE(std::isnan(wide[2]));
    EXPECT_EQ(wide[8], 1);
  }
}

} // namespace
} // namespace npar::testing
