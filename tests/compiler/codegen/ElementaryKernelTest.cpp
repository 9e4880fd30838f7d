// Elementary functions, activations and their slopes as generated code against plain C++ in double.
#include "tests/compiler/codegen/KernelChecks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace npar::codegen;

template <typename T> struct ElementaryKernel : testing::Test {};
TYPED_TEST_SUITE(ElementaryKernel, FloatAndDouble);

TYPED_TEST(ElementaryKernel, ElementaryFunctions) {
  using T = TypeParam;
  std::vector<float> x = {-1e30f, -200, -104, -88, -20, -7.91f, -5, -1, -0.3f, -1e-4f, 0, 1e-4f, 0.3f, 1, 5, 8, 20, 88, 1000};
  std::vector<float> more = randomFloats(500, 3);
  x.insert(x.end(), more.begin(), more.end());
  auto check = [&](const std::string &op, auto reference, double bound) {
    std::vector<T> y = unary<T>(op, to<T>(x), 1);
    for (size_t i = 0; i < x.size(); ++i) {
      double expected = reference(double(T(x[i])));
      if (expected > double(std::numeric_limits<T>::max())) {
        EXPECT_TRUE(std::isinf(y[i])) << op << " of " << x[i];
        continue;
      }
      EXPECT_LE(std::abs(y[i] - expected),
                (sizeof(T) == 4 ? bound : 2e-15) * std::max({std::abs(expected), sizeof(T) == 4 ? 1e-37 : 1e-300}))
          << op << " of " << x[i] << ": " << y[i] << " " << expected;
    }
  };
  check(
      "nn.exp %x", [](double v) { return std::exp(v); }, 2e-7);
  check(
      "nn.tanh %x", [](double v) { return std::tanh(v); }, 5e-7);
  for (float &v : x)
    v = std::abs(v) + 1e-20f;
  check(
      "nn.log %x", [](double v) { return std::log(v); }, 3e-7);
  check(
      "nn.rsqrt %x", [](double v) { return 1 / std::sqrt(v); }, 2e-7);
}

TYPED_TEST(ElementaryKernel, NotANumberAndInfinityPassThrough) {
  using T = TypeParam;
  T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> x = {nan, infinity, -infinity, 0, -1};
  for (const char *op : {"nn.exp %x", "nn.tanh %x", "nn.log %x", "nn.relu %x"})
    EXPECT_TRUE(std::isnan(unary<T>(op, x, 1)[0])) << op;
  EXPECT_EQ(unary<T>("nn.exp %x", x, 1)[1], infinity);
  EXPECT_EQ(unary<T>("nn.exp %x", x, 1)[2], T(0));
  EXPECT_EQ(unary<T>("nn.log %x", x, 1)[1], infinity);
  EXPECT_EQ(unary<T>("nn.log %x", x, 1)[3], -infinity);
  EXPECT_TRUE(std::isnan(unary<T>("nn.log %x", x, 1)[4]));
  EXPECT_EQ(unary<T>("nn.tanh %x", x, 1)[2], T(-1));
}

TYPED_TEST(ElementaryKernel, Gelu) {
  using T = TypeParam;
  std::vector<float> x = randomFloats(257, 3);
  x[0] = -1000, x[1] = 1000, x[2] = -9, x[3] = 9, x[4] = 0;
  std::vector<double> byTanh, exact;
  for (float v : x) {
    byTanh.push_back(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * std::pow(double(v), 3)))));
    exact.push_back(0.5 * v * std::erfc(-v / std::sqrt(2.0)));
  }
  auto check = [&](const std::vector<T> &y, const std::vector<double> &expected) {
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], expected[i], (sizeof(T) == 4 ? 1e-6 : 1e-15) * std::max(1.0, std::abs(double(x[i])))) << x[i];
    EXPECT_EQ(y[0], T(0));
  };
  check(unary<T>("nn.gelu %x {approximate = \"tanh\"}", to<T>(x), 1), byTanh);
  check(unary<T>("nn.gelu %x {approximate = \"none\"}", to<T>(x), 1), exact);
}

// Relative to the result itself: where x is negative, 1 + tanh u would cancel. What is left is the rounding of the exponent.
TYPED_TEST(ElementaryKernel, GeluByTanhHasItsDigitsWhereItIsSmall) {
  using T = TypeParam;
  std::vector<float> x;
  for (int i = 0; i < 2000; ++i)
    x.push_back(-6.0f + 0.006f * i);
  std::vector<T> y = unary<T>("nn.gelu %x {approximate = \"tanh\"}", to<T>(x), 1);
  for (size_t i = 0; i < x.size(); ++i) {
    double v = x[i], expected = v / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(y[i], expected, (sizeof(T) == 4 ? 1e-5 : 1e-13) * std::abs(expected)) << v;
  }
}

TYPED_TEST(ElementaryKernel, GeluByTanhAtTheEnds) {
  using T = TypeParam;
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<T> y = unary<T>("nn.gelu %x {approximate = \"tanh\"}", to<T>({infinity, 1e15f, -1e15f, 1e-40f, -1e-40f, 0, NAN}), 1);
  EXPECT_EQ(y[0], T(infinity));
  EXPECT_EQ(y[1], T(1e15f));
  EXPECT_EQ(y[2], T(0));
  for (int i : {3, 4}) // denormal: half of it
    EXPECT_NEAR(y[i] / (i == 3 ? 5e-41 : -5e-41), 1, 1e-4);
  EXPECT_EQ(y[5], T(0));
  EXPECT_TRUE(std::isnan(y[6]));
}

TYPED_TEST(ElementaryKernel, GeluGradientIsTheSlope) {
  using T = TypeParam;
  std::vector<T> x = to<T>(randomFloats(100, 2)), ones(100, T(1));
  std::string type = tensorText("embed=100", element(T()));
  for (const char *kind : {"tanh", "none"}) {
    CompiledFunction f(function("%x: " + type + ", %dy: " + type, type,
                                "%y = nn.gelu_grad %x, %dy {approximate = \"" + std::string(kind) + "\"} : (" + type + ", " + type +
                                    ") -> " + type + "\nreturn %y : " + type));
    ASSERT_TRUE(f.ok());
    std::vector<T> slope = f.run({x, ones})[0].template as<T>();
    auto gelu = [&](double v) {
      return kind[0] == 't' ? 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))
                            : 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    };
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(slope[i], (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5, sizeof(T) == 4 ? 2e-6 : 1e-9);
  }
}

TYPED_TEST(ElementaryKernel, SiluAndItsSlope) {
  using T = TypeParam;
  std::vector<float> x = randomFloats(257, 3);
  x[0] = -1000, x[1] = 1000, x[2] = -20, x[3] = 0;
  std::vector<T> ones(x.size(), T(1)), y = unary<T>("nn.silu %x", to<T>(x), 1);
  std::string type = tensorText("embed=257", element(T()));
  CompiledFunction f(function("%x: " + type + ", %dy: " + type, type,
                              "%y = nn.silu_grad %x, %dy : (" + type + ", " + type + ") -> " + type + "\nreturn %y : " + type));
  ASSERT_TRUE(f.ok());
  std::vector<T> slope = f.run({to<T>(x), ones})[0].template as<T>();
  double bound = sizeof(T) == 4 ? 1e-6 : 1e-15;
  for (size_t i = 0; i < x.size(); ++i) {
    double v = x[i], s = 1 / (1 + std::exp(-v));
    EXPECT_NEAR(y[i], v * s, bound * std::max(1.0, std::abs(v))) << v;
    EXPECT_NEAR(slope[i], s + v * s * (1 - s), 2 * bound) << v;
  }
}

// Listed frequencies, for sizes around powers of two: each entry finds its own.
TYPED_TEST(ElementaryKernel, SinusoidOfAList) {
  using T = TypeParam;
  for (int64_t n : {1, 2, 3, 7, 8, 9, 48, 64}) {
    std::string table = tensorText("seq=5 half=" + std::to_string(n), element(T())), seq = tensorText("seq=5", "i32"), list;
    std::vector<double> expected;
    for (int64_t i = 0; i < n; ++i)
      list += (i ? ", " : "") + std::to_string(1 + i) + ".5";
    for (int64_t position = 0; position < 5; ++position)
      for (int64_t i = 0; i < n; ++i)
        expected.push_back(std::cos(static_cast<double>(position) * (static_cast<double>(i) + 1.5)));
    CompiledFunction f(function("", table,
                                "%i = nn.index : " + seq + "\n%c = nn.sinusoid %i along \"half\" frequencies [" + list +
                                    "] wave \"cos\" : (" + seq + ") -> " + table + "\nreturn %c : " + table));
    ASSERT_TRUE(f.ok());
    expectNear(f.run({}, {0, 0, 1}, 3)[0].template as<T>(), expected, sizeof(T) == 4 ? 6e-8 : 1e-15);
  }
}

// The tables of rotary positions: frequencies rounded to float32, angles to nothing but the result's type.
TYPED_TEST(ElementaryKernel, Sinusoid) {
  using T = TypeParam;
  for (int64_t n : {1, 3, 16, 64}) {
    std::string table = tensorText("seq=37 half=" + std::to_string(n), element(T())), seq = tensorText("seq=37", "i32");
    CompiledFunction f(function("", table + ", " + table,
                                "%i = nn.index : " + seq + "\n%c = nn.sinusoid %i along \"half\" base 500000.0 wave \"cos\" : (" + seq +
                                    ") -> " + table + "\n%s = nn.sinusoid %i along \"half\" base 500000.0 wave \"sin\" : (" + seq +
                                    ") -> " + table + "\nreturn %c, %s : " + table + ", " + table));
    ASSERT_TRUE(f.ok());
    std::vector<Buffer> results = f.run({}, {0, 0, 1}, 3);
    std::vector<double> cosine, sine;
    for (int64_t position = 0; position < 37; ++position)
      for (int64_t i = 0; i < n; ++i) {
        double exponent = static_cast<float>(static_cast<double>(i) / static_cast<double>(n));
        double frequency = static_cast<float>(1.0 / static_cast<double>(static_cast<float>(std::pow(500000.0, exponent))));
        cosine.push_back(std::cos(static_cast<double>(position) * frequency));
        sine.push_back(std::sin(static_cast<double>(position) * frequency));
      }
    expectNear(results[0].as<T>(), cosine, sizeof(T) == 4 ? 6e-8 : 1e-15);
    expectNear(results[1].as<T>(), sine, sizeof(T) == 4 ? 6e-8 : 1e-15);
  }
}
