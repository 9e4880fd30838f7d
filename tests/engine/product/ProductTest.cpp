// Compares the bits of products with their definition, for random shapes with tails, on every instruction set of the processor and for
// several numbers of workers; and additions and rounding of results with the same operations done afterwards.
#include "engine/product/Product.h"
#include "tests/engine/product/ProductDefinition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace npar::testing {
namespace {

using namespace engine;

using engine::BFloat16, engine::Float16;

/// Stores a value as result type `to`, and reads it back.
std::vector<char> stored(ProductResult to, float value) {
  uint16_t bits = to == ProductResult::BF16 ? BFloat16(value).bits : Float16(value).bits;
  return {char(bits & 0xff), char(bits >> 8)};
}
float taken(ProductResult from, const char *bytes) {
  auto bits = uint16_t(uint8_t(bytes[0]) | uint8_t(bytes[1]) << 8);
  BFloat16 b;
  Float16 h;
  b.bits = h.bits = bits;
  return from == ProductResult::BF16 ? float(b) : float(h);
}

// --- one random case ------------------------------------------------------------------------------------------------------------------

struct Case {
  ProductShape shape;
  bool tiny;
  bool narrow() const { return shape.result != ProductResult::Sums; }
};

std::string describe(const Case &c) {
  const char *types[] = {"f32", "f64", "bf16", "bf16 pairs", "f16", "tf32"};
  return std::string(types[int(c.shape.type)]) + " " + std::to_string(c.shape.m) + "x" + std::to_string(c.shape.n) + "x" +
         std::to_string(c.shape.k) + (c.shape.aTransposed ? " A^T" : "") + (c.shape.bTransposed ? " B^T" : "") +
         (c.shape.accumulate ? " accumulate" : "") + (c.narrow() ? c.shape.result == ProductResult::BF16 ? " to bf16" : " to f16" : "") +
         (c.tiny ? " tiny" : "");
}

/// `In` is the type in memory, `T` that of sums.
template <class In, class T> struct Run {
  const Case &c;
  std::mt19937 &random;
  Aligned<In> a, b;
  Aligned<T> start;

  static In value(std::mt19937 &random, bool tiny) {
    float x = std::normal_distribution<float>()(random);
    if (tiny) // products around the smallest normal number, some exact zeros and infinities
      x = random() % 50 == 0     ? 0.0f
          : random() % 4000 == 0 ? INFINITY
                                 : std::ldexp(x, (std::is_same_v<In, Float16> ? -12 : -60) - int(random() % 8));
    if constexpr (sizeof(In) == 2)
      return In(x);
    else
      return In(x) + In(x) * In(1e-9);
  }

  Run(const Case &c, std::mt19937 &random)
      : c(c), random(random), a(size_t(c.shape.aTransposed ? c.shape.k : c.shape.m) * c.shape.aStride),
        b(size_t(c.shape.bTransposed ? c.shape.n : c.shape.k) * c.shape.bStride), start(size_t(c.shape.m) * c.shape.cStride) {
    for (size_t i = 0; i < a.size; ++i)
      a.data[i] = value(random, c.tiny);
    for (size_t i = 0; i < b.size; ++i)
      b.data[i] = value(random, c.tiny);
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < start.size; ++i)
      start.data[i] = T(std::ldexp(normal(random), c.tiny ? -127 : 0)); // what is added to keeps denormals
  }

  T wide(In x) const {
    if constexpr (std::is_same_v<In, float>)
      return c.shape.type == ProductType::TF32 ? engine::toTf32(x) : x;
    return T(x);
  }

  std::vector<T> definition() const {
    const ProductShape &s = c.shape;
    std::vector<T> result(size_t(s.m) * s.n);
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        auto left = [&](int64_t k) { return wide(a.data[s.aTransposed ? k * s.aStride + i : i * s.aStride + k]); };
        auto right = [&](int64_t k) { return wide(b.data[s.bTransposed ? j * s.bStride + k : k * s.bStride + j]); };
        if constexpr (std::is_same_v<In, BFloat16>)
          result[i * s.n + j] = s.type == ProductType::BF16 ? groupsOf(s.k, left, right) : pairsOf(s.k, left, right);
        else
          result[i * s.n + j] = chainOf<T>(s.k, left, right);
      }
    return result;
  }

  /// C as bytes, with the elements between its rows: they must stay as they were. `asAsked`: added to and rounded as the case says.
  std::vector<char> product(InstructionSet set, int workers, bool asAsked) const {
    ProductShape shape = c.shape;
    if (!asAsked)
      shape.accumulate = false, shape.result = ProductResult::Sums;
    Product product(shape, workers, set);
    std::vector<char> result(start.size * sizeof(T));
    for (size_t i = 0; i < start.size; ++i) {
      if (shape.result != ProductResult::Sums) {
        std::memcpy(&result[i * 2], stored(shape.result, float(start.data[i])).data(), 2);
      } else {
        std::memcpy(&result[i * sizeof(T)], &start.data[i], sizeof(T));
      }
    }
    Guarded shared(product.sharedBytes());
    for (int64_t phase = 0; phase < product.phases(); ++phase) {
      std::vector<std::thread> threads;
      for (int64_t part = product.parts(phase) - 1; part >= 0; --part)
        threads.emplace_back([&, part] {
          Guarded own(product.partBytes());
          product.run(phase, part, {a.data, b.data, result.data()}, shared.memory.data, own.memory.data);
          EXPECT_TRUE(own.whole()) << "a part's scratch overrun in " << describe(c);
        });
      for (std::thread &thread : threads)
        thread.join();
    }
    EXPECT_TRUE(shared.whole()) << "shared scratch overrun in " << describe(c);
    return result;
  }

  ::testing::AssertionResult matchesDefinition(const std::vector<char> &result, const std::vector<T> &expected) const {
    for (int64_t i = 0; i < c.shape.m; ++i)
      for (int64_t j = 0; j < c.shape.cStride; ++j) {
        T found;
        std::memcpy(&found, &result[(i * c.shape.cStride + j) * sizeof(T)], sizeof(T));
        T wanted = j < c.shape.n ? expected[i * c.shape.n + j] : start.data[i * c.shape.cStride + j];
        if (!sameBits(found, wanted)) {
          return ::testing::AssertionFailure() << "at " << i << ", " << j << ": " << found << ", defined as " << wanted;
        }
      }
    return ::testing::AssertionSuccess();
  }

  /// Added and rounded after the product was stored.
  ::testing::AssertionResult matchesAfterwards(const std::vector<char> &result, const std::vector<T> &expected) const {
    for (int64_t i = 0; i < c.shape.m; ++i)
      for (int64_t j = 0; j < c.shape.n; ++j) {
        T x = expected[i * c.shape.n + j], old = start.data[i * c.shape.cStride + j];
        ProductResult to = c.shape.result;
        auto rounded = [&](T value) { return c.narrow() ? T(taken(to, stored(to, float(value)).data())) : value; };
        if (c.shape.accumulate)
          x = x + rounded(old);
        T found;
        if (c.narrow())
          found = T(taken(to, &result[(i * c.shape.cStride + j) * 2])), x = rounded(x);
        else
          std::memcpy(&found, &result[(i * c.shape.cStride + j) * sizeof(T)], sizeof(T));
        if (!sameBits(found, x)) {
          return ::testing::AssertionFailure() << "as asked at " << i << ", " << j << ": " << found << ", afterwards " << x;
        }
      }
    return ::testing::AssertionSuccess();
  }

  void check() const {
    std::vector<T> expected = definition();
    std::vector<char> first;
    for (InstructionSet set : availableInstructionSets())
      for (int workers : {1, 2, 4, 7}) {
        SCOPED_TRACE(describe(c) + ", " + wordOf(set) + ", " + std::to_string(workers) + " workers");
        ASSERT_TRUE(matchesDefinition(product(set, workers, false), expected));
        std::vector<char> result = product(set, workers, true);
        if (first.empty())
          first = result;
        if (!c.tiny) { // tiny values lead to NaNs, whose bits are undefined
          ASSERT_EQ(result, first) << "other bits than " << wordOf(availableInstructionSets().front());
        }
        ASSERT_TRUE(matchesAfterwards(result, expected));
      }
  }
};

int64_t someSize(std::mt19937 &random, int64_t most) {
  int64_t bits = random() % 12;
  return 1 + int64_t(random()) % std::min<int64_t>(most, int64_t(1) << bits);
}

/// Now and then one dimension fills several blocks; the others shrink until no more than `work` multiplications are left.
void drawSizes(ProductShape &shape, int index, int64_t most, int64_t work, std::mt19937 &random) {
  int64_t *sizes[] = {&shape.m, &shape.n, &shape.k}, *largest = nullptr;
  shape.m = someSize(random, most), shape.n = someSize(random, most), shape.k = someSize(random, 4 * most);
  if (index % 3 == 2) {
    largest = sizes[index / 3 % 3];
    *largest = 1100 + random() % 1200;
  }
  for (int which = 0; shape.m * shape.n * shape.k > work; ++which)
    if (int64_t *size = sizes[which % 3]; size != largest)
      *size = (*size + 1) / 2;
}

/// Fewer and smaller ones unless NPAR_LONG is set.
template <class In, class T> void checkRandomProducts(ProductType type) {
  bool isLong = std::getenv("NPAR_LONG");
  int cases = isLong ? 72 : 24;
  std::mt19937 random(1 + unsigned(type));
  for (int i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
    Case c{};
    ProductShape &shape = c.shape;
    shape.type = type;
    drawSizes(shape, i, isLong ? 400 : 100, isLong ? 30'000'000 : 150'000, random);
    shape.aTransposed = random() % 2, shape.bTransposed = random() % 2;
    shape.aStride = (shape.aTransposed ? shape.m : shape.k) + random() % 5;
    shape.bStride = (shape.bTransposed ? shape.k : shape.n) + random() % 5;
    shape.cStride = shape.n + 3;
    shape.accumulate = random() % 2, c.tiny = random() % 3 == 0;
    shape.result = type == ProductType::F64 || random() % 2 ? ProductResult::Sums
                   : type == ProductType::F16               ? ProductResult::F16
                                                            : ProductResult::BF16;
    Run<In, T>(c, random).check();
  }
}

TEST(ProductTest, float32IsOneChainOverK) { checkRandomProducts<float, float>(ProductType::F32); }
TEST(ProductTest, float64IsOneChainOverK) { checkRandomProducts<double, double>(ProductType::F64); }
TEST(ProductTest, bf16IsTheTileInstruction) { checkRandomProducts<BFloat16, float>(ProductType::BF16); }
TEST(ProductTest, bf16PairsAreTheVectorInstruction) { checkRandomProducts<BFloat16, float>(ProductType::BF16Pairs); }
TEST(ProductTest, float16IsWidenedFirst) { checkRandomProducts<Float16, float>(ProductType::F16); }
TEST(ProductTest, tf32IsRoundedFirst) { checkRandomProducts<float, float>(ProductType::TF32); }

/// TF32 rounding by arithmetic: 11 significant bits, for denormals the bits above 2^-137, ties away from zero.
float nearestOfTf32(float value) {
  if (!std::isfinite(value))
    return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  int place = std::max(exponent - 11, -136);
  return float(std::ldexp(std::round(std::ldexp(double(value), -place)), place));
}

TEST(Tf32Test, isToNearestAndTiesAway) {
  std::vector<uint32_t> words = {0x3F801000, 0x3F800FFF, 0x3F803000, 0x3FFFF000, 0x7F7FEFFF, 0x7F7FF000, 0x7F7FFFFF, 0x7F800000,
                                 0x7F800001, 0x7FC01000, 0x7FFFFFFF, 0,          1,          0x0FFF,     0x1000,     0x007FFFFF};
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i)
    words.push_back(uint32_t(random()));
  for (uint32_t word : words)
    for (uint32_t sign : {0u, 0x80000000u}) {
      float value = engine::floatOfBits(word | sign), found = engine::toTf32(value);
      ASSERT_TRUE(sameBits(found, nearestOfTf32(value))) << std::hexfloat << value << " became " << found;
      ASSERT_EQ(engine::bitsOfFloat(engine::toTf32(found)), engine::bitsOfFloat(found)) << "rounded twice";
    }
}

// Each operand is off by half a place of 11 bits at most; sums of float32 add little to that, and are not what was computed.
TEST(Tf32Test, productsAreAsFarOffAsTheRoundingExplains) {
  constexpr int64_t m = 9, n = 40, k = 200;
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> a(m * k), b(k * n), c(m * n), exact(m * n);
  for (std::vector<float> *values : {&a, &b})
    for (float &value : *values)
      value = normal(random);
  auto multiply = [&](ProductType type, float *result) {
    Product product({type, m, n, k, k, n, n}, 1, availableInstructionSets().back());
    Guarded shared(product.sharedBytes()), own(product.partBytes());
    for (int64_t phase = 0; phase < product.phases(); ++phase)
      for (int64_t part = 0; part < product.parts(phase); ++part)
        product.run(phase, part, {a.data(), b.data(), result}, shared.memory.data, own.memory.data);
  };
  multiply(ProductType::TF32, c.data());
  multiply(ProductType::F32, exact.data());
  double farthest = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double rounded = 0, sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        rounded += double(nearestOfTf32(a[i * k + l])) * nearestOfTf32(b[l * n + j]);
        sum += double(a[i * k + l]) * b[l * n + j], size += std::abs(double(a[i * k + l]) * b[l * n + j]);
      }
      ASSERT_NEAR(c[i * n + j], rounded, double(k) * 0x1p-24 * size);
      ASSERT_NEAR(c[i * n + j], sum, (0x1p-10 + double(k) * 0x1p-24) * size);
      farthest = std::max(farthest, std::abs(c[i * n + j] - exact[i * n + j]) / size);
    }
  EXPECT_GT(farthest, 0x1p-15);
}

template <class In, class T> void checkShape(const ProductShape &shape) {
  std::mt19937 random(11);
  Case c{};
  c.shape = shape;
  Run<In, T>(c, random).check();
}

// A product that takes several steps in each direction: sums carried over blocks of k for some rows and columns at a time, and panels of B
// in pieces.
TEST(ProductTest, severalStepsOfRowsColumnsAndDepths) {
  constexpr auto sums = ProductResult::Sums, bf16 = ProductResult::BF16;
  checkShape<float, float>({ProductType::F32, 2060, 3, 800, 800, 3, 4, false, false, sums, true});
  checkShape<float, float>({ProductType::F32, 2060, 3, 800, 2060, 800, 4, true, true, sums, false});
  checkShape<float, float>({ProductType::F32, 2, 4200, 768, 768, 4200, 4200, false, false, sums, false});
  checkShape<float, float>({ProductType::TF32, 2060, 3, 800, 2060, 800, 4, true, true, sums, true});
  checkShape<BFloat16, float>({ProductType::BF16, 3, 1100, 800, 800, 800, 1101, false, true, bf16, false});
  checkShape<BFloat16, float>({ProductType::BF16, 2060, 2, 800, 800, 2, 2, false, false, bf16, true});
  checkShape<BFloat16, float>({ProductType::BF16Pairs, 30, 1100, 1600, 1600, 1600, 1101, false, true, bf16, false});
  checkShape<BFloat16, float>({ProductType::BF16Pairs, 2060, 2, 1601, 2060, 2, 2, true, false, bf16, true});
}

// Few rows, for which B is read in place: strips of columns, tails of k and of columns.
TEST(ProductTest, fewRows) {
  constexpr auto sums = ProductResult::Sums, bf16 = ProductResult::BF16, f16 = ProductResult::F16;
  for (int64_t m : {1, 3, 4}) {
    checkShape<float, float>({ProductType::F32, m, 8300, 21, 24, 8301, 8304, false, false, sums, false});
    checkShape<float, float>({ProductType::F32, m, 37, 803, m, 803, 40, true, true, bf16, true});
    checkShape<float, float>({ProductType::TF32, m, 37, 203, m, 203, 40, true, true, sums, true});
    checkShape<float, float>({ProductType::TF32, m, 300, 21, 24, 301, 304, false, false, sums, false});
    checkShape<double, double>({ProductType::F64, m, 45, 203, 203, 203, 45, false, true, sums, true});
    checkShape<BFloat16, float>({ProductType::BF16, m, 2900, 75, 75, 2900, 2901, false, false, bf16, true});
    checkShape<BFloat16, float>({ProductType::BF16, m, 83, 700, m, 701, 83, true, true, sums, false});
    checkShape<BFloat16, float>({ProductType::BF16Pairs, m, 2900, 75, 75, 2900, 2901, false, false, bf16, true});
    checkShape<BFloat16, float>({ProductType::BF16Pairs, m, 83, 700, m, 701, 83, true, true, sums, false});
    checkShape<Float16, float>({ProductType::F16, m, 83, 130, 130, 130, 83, false, true, f16, false});
  }
}

// An odd k: the last pair lacks the element that its chain takes first.
TEST(ProductTest, oddDepthsOfPairs) {
  constexpr auto sums = ProductResult::Sums;
  for (int64_t k : {1, 2, 3, 17, 33, 1537})
    for (int64_t m : {1, 5, 40})
      for (bool transposed : {false, true})
        checkShape<BFloat16, float>(
            {ProductType::BF16Pairs, m, 35, k, transposed ? m : k, transposed ? k : 35, 36, transposed, transposed, sums, false});
}

/// Operands drawn from zeros, denormals, the smallest and the largest numbers, infinities and NaN, of both signs.
void checkSpecialValues(ProductType type, int64_t rows) {
  const uint16_t specials[] = {0x0000, 0x0001, 0x007f, 0x0080, 0x00ff, 0x1f80, 0x2000, 0x3f80, 0x3f81, 0x5f00, 0x7f7f, 0x7f80, 0x7fc0};
  std::mt19937 random(13);
  Case c{{type, rows, 400, 5, 5, 400, 400}, true};
  Run<BFloat16, float> run(c, random);
  for (auto *values : {&run.a, &run.b})
    for (size_t i = 0; i < values->size; ++i)
      values->data[i].bits = uint16_t(specials[random() % std::size(specials)] | (random() % 2) << 15);
  run.check();
}

TEST(ProductTest, bf16OfSpecialValues) {
  for (ProductType type : {ProductType::BF16, ProductType::BF16Pairs})
    for (int64_t rows : {2, 40})
      checkSpecialValues(type, rows);
}

TEST(InstructionSetTest, theFastestOrderIsThatOfTheBestInstruction) {
  InstructionSet best = availableInstructionSets().back();
  EXPECT_EQ(fastestBf16(InstructionSet::Avx512), ProductType::BF16);
  EXPECT_EQ(fastestBf16(best), best == InstructionSet::Pairs ? ProductType::BF16Pairs : ProductType::BF16);
  if (best >= InstructionSet::Pairs) {
    EXPECT_TRUE(pairsAreExact());
    EXPECT_EQ(fastestBf16(InstructionSet::Pairs), ProductType::BF16Pairs);
    EXPECT_EQ(ownSet(best, ProductType::BF16Pairs), InstructionSet::Pairs);
  }
  EXPECT_EQ(ownSet(best, ProductType::F32), std::min(best, InstructionSet::Avx512));
}

TEST(InstructionSetTest, aWordMasksWhatIsBetter) {
  std::vector<InstructionSet> available = availableInstructionSets();
  for (InstructionSet set : available) {
    Result<InstructionSet> best = bestInstructionSet(wordOf(set).c_str());
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(*best, set);
  }
  for (const char *all : {static_cast<const char *>(nullptr), "", "tiles"}) {
    Result<InstructionSet> best = bestInstructionSet(all);
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(*best, available.back());
  }
}

TEST(InstructionSetTest, anUnknownWordIsRefused) {
  Result<InstructionSet> best = bestInstructionSet("avx");
  ASSERT_FALSE(best.ok());
  EXPECT_EQ(best.status().code(), Code::BadInput);
  EXPECT_EQ(best.status().message(), "NPAR_INSTRUCTIONS is 'avx'; use plain, avx2, avx512, pairs or tiles");
}

} // namespace
} // namespace npar::testing
