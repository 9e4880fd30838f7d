// Forward and backward prims as generated code against plain C++ in double, at sizes around the vector length.
#include "engine/numbers/NarrowFloat.h"
#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace npar::codegen;

namespace {
std::vector<float> randomFloats(size_t count, double scale = 1, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(generator);
  return values;
}

template <typename T> std::vector<T> to(const std::vector<float> &values) { return {values.begin(), values.end()}; }

template <typename T> void expectNear(const std::vector<T> &actual, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double value : expected)
    largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(actual[i] - expected[i]), tolerance * std::max(largest, 1e-30))
        << "at " << i << ": " << actual[i] << " " << expected[i];
  }
}

std::string function(const std::string &arguments, const std::string &results, const std::string &body) {
  return "module { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}

const char *element(float) { return "f32"; }
const char *element(double) { return "f64"; }
template <typename T> double tolerance() { return sizeof(T) == 4 ? 4e-6 : 1e-14; }

/// y = op(x) on [rows, size].
template <typename T> std::vector<T> unary(const std::string &op, const std::vector<T> &x, int64_t rows, int64_t split = 1) {
  std::string type = tensorText("batch=" + std::to_string(rows) + " embed=" + std::to_string(x.size() / rows), element(T()));
  CompiledFunction f(function("%x: " + type, type, "%y = " + op + " : (" + type + ") -> " + type + "\nreturn %y : " + type));
  EXPECT_TRUE(f.ok()) << op;
  return f.run({x}, {0, 0, 1}, split)[0].template as<T>();
}

const int64_t sizes[] = {1, 7, 15, 16, 17, 33, 64, 257};
} // namespace

template <typename T> struct Kernel : testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(Kernel, Elements);

TYPED_TEST(Kernel, ElementaryFunctions) {
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

TYPED_TEST(Kernel, NotANumberAndInfinityPassThrough) {
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

TYPED_TEST(Kernel, Gelu) {
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
TYPED_TEST(Kernel, GeluByTanhHasItsDigitsWhereItIsSmall) {
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

TYPED_TEST(Kernel, GeluByTanhAtTheEnds) {
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

TYPED_TEST(Kernel, GeluGradientIsTheSlope) {
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

TYPED_TEST(Kernel, SiluAndItsSlope) {
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

// The tables of rotary positions: frequencies rounded to float32, angles to nothing but the result's type.
TYPED_TEST(Kernel, Sinusoid) {
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

// (x - mean) * rstd * gamma + beta, as placing expands it: one kernel.
TYPED_TEST(Kernel, LayerNorm) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    int64_t rows = 6;
    std::string e = std::to_string(n), x = tensorText("batch=2 seq=3 embed=" + e, element(T())),
                r = tensorText("batch=2 seq=3", element(T())), g = tensorText("embed=" + e, element(T()));
    std::string reduce = " : (" + x + ") -> " + r + "\n", row = " : (" + r + ") -> " + r + "\n",
                wide = " : (" + x + ", " + r + ") -> " + x + "\n", scale = " : (" + x + ", " + g + ") -> " + x + "\n",
                inverse = std::to_string(1.0 / n);
    char factor[32];
    std::snprintf(factor, sizeof factor, "%.17g", 1.0 / n);
    if (!std::strchr(factor, '.'))
      std::strcat(factor, ".0");
    CompiledFunction f(function("%x: " + x + ", %g: " + g + ", %b: " + g, x + ", " + r + ", " + r,
                                "%s = nn.sum %x" + reduce + "%mean = nn.scale %s by " + factor + row + "%d = nn.sub %x, %mean" + wide +
                                    "%q = nn.mul %d, %d : (" + x + ", " + x + ") -> " + x + "\n%v = nn.sum %q" + reduce +
                                    "%w = nn.scale %v by " + factor + row + "%u = nn.shift %w by 1.0e-5" + row + "%rstd = nn.rsqrt %u" +
                                    row + "%h = nn.mul %d, %rstd" + wide + "%k = nn.mul %h, %g" + scale + "%y = nn.add %k, %b" + scale +
                                    "return %y, %mean, %rstd : " + x + ", " + r + ", " + r));
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f.kernels, 1);
    std::vector<T> input = to<T>(randomFloats(rows * n)), gamma = to<T>(randomFloats(n, 1, 2)), beta = to<T>(randomFloats(n, 1, 3));
    std::vector<double> y, mean, rstd;
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0, squares = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += input[i * n + j];
      mean.push_back(sum / n);
      for (int64_t j = 0; j < n; ++j)
        squares += std::pow(input[i * n + j] - mean[i], 2);
      rstd.push_back(1 / std::sqrt(squares / n + 1e-5));
      for (int64_t j = 0; j < n; ++j)
        y.push_back((input[i * n + j] - mean[i]) * rstd[i] * gamma[j] + beta[j]);
    }
    std::vector<Buffer> once = f.run({input, gamma, beta}), parts = f.run({input, gamma, beta}, {0, 0, 1}, 4);
    expectNear(once[0].as<T>(), y, tolerance<T>());
    expectNear(once[1].as<T>(), mean, tolerance<T>());
    expectNear(once[2].as<T>(), rstd, tolerance<T>());
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(once[i].bytes, parts[i].bytes);
  }
}

// Causal softmax: mask, maximum, exp kept in a row buffer, sum, quotient: one kernel.
TYPED_TEST(Kernel, CausalSoftmax) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string k = std::to_string(n), x = tensorText("batch=2 head=3 seq=" + k + " key=" + k, element(T())),
                r = tensorText("batch=2 head=3 seq=" + k, element(T()));
    std::string reduce = " : (" + x + ") -> " + r + "\n", wide = " : (" + x + ", " + r + ") -> " + x + "\n",
                same = " : (" + x + ") -> " + x + "\n";
    CompiledFunction f(function("%x: " + x, x,
                                "%z = nn.scale %x by 0.125" + same + "%c = nn.causal_mask %z query \"seq\" key \"key\"" + same +
                                    "%m = nn.max %c" + reduce + "%d = nn.sub %c, %m" + wide + "%e = nn.exp %d" + same + "%s = nn.sum %e" +
                                    reduce + "%y = nn.div %e, %s" + wide + "return %y : " + x));
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f.kernels, 1);
    std::vector<T> input = to<T>(randomFloats(6 * n * n, 30));
    std::vector<double> y(input.size(), 0.0);
    for (int64_t i = 0; i < 6 * n; ++i) {
      double largest = -1e300, sum = 0;
      for (int64_t j = 0; j <= i % n; ++j)
        largest = std::max(largest, 0.125 * input[i * n + j]);
      for (int64_t j = 0; j <= i % n; ++j)
        sum += y[i * n + j] = std::exp(0.125 * input[i * n + j] - largest);
      for (int64_t j = 0; j <= i % n; ++j)
        y[i * n + j] /= sum;
    }
    std::vector<T> actual = f.run({input})[0].template as<T>();
    expectNear(actual, y, tolerance<T>());
    EXPECT_TRUE(n == 1 || actual[1] == T(0)); // masked: exactly 0
  }
}

TYPED_TEST(Kernel, CrossEntropy) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string v = std::to_string(n), x = tensorText("batch=2 seq=3 vocab=" + v, element(T())),
                r = tensorText("batch=2 seq=3", element(T())), t = tensorText("batch=2 seq=3", "i32");
    std::string reduce = " : (" + x + ") -> " + r + "\n", wide = " : (" + x + ", " + r + ") -> " + x + "\n",
                same = " : (" + x + ") -> " + x + "\n", row = " : (" + r + ", " + r + ") -> " + r + "\n";
    CompiledFunction f(function("%x: " + x + ", %t: " + t + ", %dl: " + r, r + ", " + x,
                                "%m = nn.max %x" + reduce + "%d = nn.sub %x, %m" + wide + "%e = nn.exp %d" + same + "%s = nn.sum %e" +
                                    reduce + "%l = nn.log %s : (" + r + ") -> " + r + "\n%lse = nn.add %l, %m" + row +
                                    "%p = nn.pick %x, %t over \"vocab\" : (" + x + ", " + t + ") -> " + r + "\n%loss = nn.sub %lse, %p" +
                                    row + "%g = nn.sub %x, %lse" + wide + "%h = nn.exp %g" + same +
                                    "%o = nn.one_hot %t over \"vocab\" : (" + t + ") -> " + x + "\n%q = nn.sub %h, %o : (" + x + ", " + x +
                                    ") -> " + x + "\n%dx = nn.mul %q, %dl" + wide + "return %loss, %dx : " + r + ", " + x));
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f.kernels, 1);
    std::vector<T> logits = to<T>(randomFloats(6 * n, 4)), scale = to<T>(randomFloats(6, 1, 5));
    std::vector<int32_t> targets;
    std::vector<double> loss, gradient;
    for (int64_t i = 0; i < 6; ++i) {
      targets.push_back((i * 37) % n);
      double sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += std::exp(double(logits[i * n + j]));
      loss.push_back(std::log(sum) - logits[i * n + targets[i]]);
      for (int64_t j = 0; j < n; ++j)
        gradient.push_back((std::exp(double(logits[i * n + j])) / sum - (j == targets[i])) * scale[i]);
    }
    std::vector<Buffer> results = f.run({logits, targets, scale});
    for (size_t i = 0; i < loss.size(); ++i)
      EXPECT_NEAR(results[0].as<T>()[i], loss[i], sizeof(T) == 4 ? 1e-5 : 1e-13);
    expectNear(results[1].as<T>(), gradient, tolerance<T>());
  }
}

// Rows of small integers, so that many elements are equal to the maximum.
TYPED_TEST(Kernel, MaximumAndWhereItIs) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string x = tensorText("batch=3 embed=" + std::to_string(n), element(T())), r = tensorText("batch=3", element(T()));
    CompiledFunction f(function("%x: " + x, x + ", " + r,
                                "%m = nn.max %x : (" + x + ") -> " + r + "\n%h = nn.is_max %x, %m : (" + x + ", " + r + ") -> " + x +
                                    "\n%c = nn.sum %h : (" + x + ") -> " + r + "\nreturn %h, %c : " + x + ", " + r));
    ASSERT_TRUE(f.ok());
    std::vector<T> input = to<T>(randomFloats(3 * n, 2));
    for (T &each : input)
      each = std::round(each);
    std::vector<double> hits(3 * n), counts(3);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < n; ++j) {
        hits[i * n + j] = input[i * n + j] == *std::max_element(&input[i * n], &input[i * n] + n);
        counts[i] += hits[i * n + j];
      }
    std::vector<Buffer> results = f.run({input}, {0, 0, 1}, 2);
    expectNear(results[0].as<T>(), hits, 0);
    expectNear(results[1].as<T>(), counts, 0);
  }
}

// The gradients of gamma and beta: two column sums over the same rows in one kernel, cheap producers computed inside.
TYPED_TEST(Kernel, ColumnSums) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string x = tensorText("batch=5 seq=7 embed=" + std::to_string(n), element(T())),
                g = tensorText("embed=" + std::to_string(n), element(T()));
    CompiledFunction f(function("%x: " + x + ", %dy: " + x + ", %a: " + g, g + ", " + g,
                                "%p = nn.mul %x, %dy : (" + x + ", " + x + ") -> " + x + "\n%dg = nn.sum %p : (" + x + ") -> " + g +
                                    "\n%db = nn.sum %dy : (" + x + ") -> " + g + "\n%n = nn.add %a, %dg : (" + g + ", " + g + ") -> " + g +
                                    "\nreturn %n, %db : " + g + ", " + g));
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f.kernels, 1);
    std::vector<T> input = to<T>(randomFloats(35 * n)), dy = to<T>(randomFloats(35 * n, 1, 2)), start = to<T>(randomFloats(n, 1, 3));
    std::vector<double> dgamma(start.begin(), start.end()), dbeta(n, 0.0);
    for (int64_t i = 0; i < 35; ++i)
      for (int64_t j = 0; j < n; ++j)
        dgamma[j] += double(input[i * n + j]) * dy[i * n + j], dbeta[j] += dy[i * n + j];
    std::vector<Buffer> results = f.run({input, dy, start}, {0, 0, 1}, 3);
    expectNear(results[0].as<T>(), dgamma, tolerance<T>());
    expectNear(results[1].as<T>(), dbeta, tolerance<T>());
  }
}

TYPED_TEST(Kernel, GatherAndScatterAdd) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string e = std::to_string(n), table = tensorText("vocab=11 embed=" + e, element(T())), idx = tensorText("batch=3 seq=4", "i32"),
                x = tensorText("batch=3 seq=4 embed=" + e, element(T())), seq = tensorText("seq=4", "i32"),
                position = tensorText("position=9 embed=" + e, element(T())), p = tensorText("seq=4 embed=" + e, element(T()));
    CompiledFunction f(
        function("%w: " + table + ", %q: " + position + ", %t: " + idx + ", %dy: " + x + ", %a: " + table, x + ", " + table + ", " + table,
                 "%y = nn.gather %w, %t over \"vocab\" : (" + table + ", " + idx + ") -> " + x + "\n%i = nn.index : " + seq +
                     "\n%z = nn.gather %q, %i over \"position\" : (" + position + ", " + seq + ") -> " + p + "\n%s = nn.add %y, %z : (" +
                     x + ", " + p + ") -> " + x + "\n%d = nn.scatter_add %t, %dy over \"vocab\" : (" + idx + ", " + x + ") -> " + table +
                     "\n%d2 = nn.scatter_add %t, %dy over \"vocab\" : (" + idx + ", " + x + ") -> " + table + "\n%n = nn.add %a, %d2 : (" +
                     table + ", " + table + ") -> " + table + "\nreturn %s, %d, %n : " + x + ", " + table + ", " + table));
    ASSERT_TRUE(f.ok());
    std::vector<T> w = to<T>(randomFloats(11 * n)), q = to<T>(randomFloats(9 * n, 1, 2)), dy = to<T>(randomFloats(12 * n, 1, 3)),
                   a = to<T>(randomFloats(11 * n, 1, 4));
    std::vector<int32_t> tokens = {0, 10, 3, 3, 7, 10, 0, 1, 2, 3, 10, 5};
    std::vector<double> sum, gradient(11 * n, 0.0), total(a.begin(), a.end());
    for (int64_t i = 0; i < 12; ++i)
      for (int64_t j = 0; j < n; ++j) {
        sum.push_back(double(w[tokens[i] * n + j]) + q[i % 4 * n + j]);
        gradient[tokens[i] * n + j] += dy[i * n + j];
        total[tokens[i] * n + j] += dy[i * n + j];
      }
    std::vector<Buffer> results = f.run({w, q, tokens, dy, a}, {0, 0, 1}, 2);
    expectNear(results[0].as<T>(), sum, tolerance<T>());
    expectNear(results[1].as<T>(), gradient, tolerance<T>());
    expectNear(results[2].as<T>(), total, tolerance<T>());
  }
}

// Rows go where positions say, of each sample; beyond what is kept nowhere. In the place of what was kept or elsewhere.
TYPED_TEST(Kernel, Append) {
  using T = TypeParam;
  for (int64_t n : sizes) {
    std::string e = std::to_string(n), kept = tensorText("batch=2 key=7 embed=" + e, element(T())),
                rows = tensorText("batch=2 seq=3 embed=" + e, element(T())), at = tensorText("seq=3", "i32");
    CompiledFunction f(function("%k: " + kept + ", %r: " + rows + ", %i: " + at, kept,
                                "%y = nn.append %k, %r at %i along \"seq\" to \"key\" : (" + kept + ", " + rows + ", " + at + ") -> " +
                                    kept + "\nreturn %y : " + kept));
    ASSERT_TRUE(f.ok());
    std::vector<T> k = to<T>(randomFloats(14 * n)), r = to<T>(randomFloats(6 * n, 1, 2));
    std::vector<int32_t> positions = {5, 6, 7};
    std::vector<double> expected(k.begin(), k.end());
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < n; ++j)
          expected[(b * 7 + 5 + i) * n + j] = r[(b * 3 + i) * n + j];
    for (int64_t parts : {1, 3}) {
      std::vector<Buffer> results = f.run({k, r, positions}, {0}, parts);
      expectNear(results[0].as<T>(), expected, 0);
    }
  }
}

// Products in f32 are classified onto strides; in f64 they are generated. Both against four plain loops.
TYPED_TEST(Kernel, Einsum) {
  using T = TypeParam;
  std::string q = tensorText("batch=2 seq=5 head=3 feature=4", element(T())),
              k = tensorText("batch=2 key=5 head=3 feature=4", element(T())), s = tensorText("batch=2 head=3 seq=5 key=5", element(T())),
              w = tensorText("head=3 feature=4 embed=17", element(T())), y = tensorText("batch=2 seq=5 embed=17", element(T()));
  CompiledFunction f(function("%q: " + q + ", %k: " + k + ", %w: " + w, s + ", " + y + ", " + w,
                              "%s = nn.einsum %q, %k : (" + q + ", " + k + ") -> " + s + "\n%y = nn.einsum %q, %w : (" + q + ", " + w +
                                  ") -> " + y + "\n%g = nn.einsum %q, %y : (" + q + ", " + y + ") -> " + w + "\nreturn %s, %y, %g : " + s +
                                  ", " + y + ", " + w));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f.products, sizeof(T) == 4 ? 3 : 0);
  std::vector<T> a = to<T>(randomFloats(120)), b = to<T>(randomFloats(120, 1, 2)), c = to<T>(randomFloats(204, 1, 3));
  std::vector<double> scores(150, 0.0), out(170, 0.0), gradient(204, 0.0);
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 3; ++h)
      for (int i = 0; i < 5; ++i)
        for (int d = 0; d < 4; ++d) {
          double x = a[((n * 5 + i) * 3 + h) * 4 + d];
          for (int j = 0; j < 5; ++j)
            scores[((n * 3 + h) * 5 + i) * 5 + j] += x * b[((n * 5 + j) * 3 + h) * 4 + d];
          for (int e = 0; e < 17; ++e)
            out[(n * 5 + i) * 17 + e] += x * c[(h * 4 + d) * 17 + e];
        }
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 12; ++j)
      for (int e = 0; e < 17; ++e)
        gradient[j * 17 + e] += double(a[i * 12 + j]) * out[i * 17 + e];
  std::vector<Buffer> results = f.run({a, b, c}, {0, 0, 1}, 2);
  expectNear(results[0].as<T>(), scores, tolerance<T>());
  expectNear(results[1].as<T>(), out, tolerance<T>());
  expectNear(results[2].as<T>(), gradient, tolerance<T>());
}

// An einsum that does not become a matrix product, here because its last axis is one of the batch, also rounds operands to TF32; infinities
// are kept.
TEST(KernelInTf32, Einsum) {
  std::string a = tensorText("m=3 k=20 batch=17", "f32"), b = tensorText("k=20 n=5 batch=17", "f32"),
              c = tensorText("m=3 n=5 batch=17", "f32");
  CompiledFunction f(
      function("%a: " + a + ", %b: " + b, c, "%c = nn.einsum %a, %b {tf32} : (" + a + ", " + b + ") -> " + c + "\nreturn %c : " + c));
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f.products, 0);
  std::vector<float> x = randomFloats(3 * 20 * 17), y = randomFloats(20 * 5 * 17, 1, 2);
  x[0] = INFINITY, y[5] = std::ldexp(y[5], -135);
  std::vector<float> found = f.run({x, y}, {0, 0, 1}, 2)[0].as<float>();
  size_t other = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j)
      for (int n = 0; n < 17; ++n) {
        float sum = 0, plain = 0;
        for (int k = 0; k < 20; ++k) {
          float left = x[(i * 20 + k) * 17 + n], right = y[(k * 5 + j) * 17 + n];
          sum = std::fma(npar::program::toTf32(left), npar::program::toTf32(right), sum), plain = std::fma(left, right, plain);
        }
        ASSERT_EQ(found[(i * 5 + j) * 17 + n], sum) << i << ", " << j << ", " << n;
        other += sum != plain;
      }
  EXPECT_GT(other, 200u);
}

// Views: q, k and v of a joint projection need no copies in f32; their gradients are stacked.
TYPED_TEST(Kernel, SelectRenameStack) {
  using T = TypeParam;
  std::string x = tensorText("batch=2 seq=5 part=3 head=2 feature=4", element(T())),
              q = tensorText("batch=2 seq=5 head=2 feature=4", element(T())),
              k = tensorText("batch=2 key=5 head=2 feature=4", element(T())), s = tensorText("batch=2 head=2 seq=5 key=5", element(T()));
  CompiledFunction f(function(
      "%x: " + x, s + ", " + x,
      "%q = nn.select %x at \"part\"[0] : (" + x + ") -> " + q + "\n%k = nn.select %x at \"part\"[1] : (" + x + ") -> " + q +
          "\n%r = nn.rename %k from \"seq\" to \"key\" : (" + q + ") -> " + k + "\n%s = nn.einsum %q, %r : (" + q + ", " + k + ") -> " + s +
          "\n%v = nn.select %x at \"part\"[2] : (" + x + ") -> " + q + "\n%n = nn.scale %v by 2.0 : (" + q + ") -> " + q +
          "\n%z = nn.stack %n, %v, %n along \"part\" : (" + q + ", " + q + ", " + q + ") -> " + x + "\nreturn %s, %z : " + s + ", " + x));
  ASSERT_TRUE(f.ok());
  std::vector<T> input = to<T>(randomFloats(240));
  std::vector<double> scores(100, 0.0), stacked(240);
  auto at = [&](int n, int i, int p, int h, int d) { return (((n * 5 + i) * 3 + p) * 2 + h) * 4 + d; };
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 5; ++i)
      for (int h = 0; h < 2; ++h)
        for (int d = 0; d < 4; ++d) {
          for (int j = 0; j < 5; ++j)
            scores[((n * 2 + h) * 5 + i) * 5 + j] += double(input[at(n, i, 0, h, d)]) * input[at(n, j, 1, h, d)];
          for (int p = 0; p < 3; ++p)
            stacked[at(n, i, p, h, d)] = (p == 1 ? 1.0 : 2.0) * input[at(n, i, 2, h, d)];
        }
  std::vector<Buffer> results = f.run({input});
  expectNear(results[0].as<T>(), scores, tolerance<T>());
  expectNear(results[1].as<T>(), stacked, tolerance<T>());
}
