// Prims over rows and tables as generated code against plain C++ in double, at sizes around the vector length.
#include "tests/compiler/codegen/KernelChecks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace npar::codegen;

template <typename T> struct Kernel : testing::Test {};
TYPED_TEST_SUITE(Kernel, FloatAndDouble);

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
/// Appends three rows to the entries of an axis, at the same positions for both samples or at positions of their own.
template <typename T> void append(int64_t n, const std::string &positionAxes, const std::vector<int32_t> &positions) {
  std::string e = std::to_string(n), kept = tensorText("batch=2 key=7 embed=" + e, element(T())),
              rows = tensorText("batch=2 seq=3 embed=" + e, element(T())), at = tensorText(positionAxes, "i32");
  CompiledFunction f(function("%k: " + kept + ", %r: " + rows + ", %i: " + at, kept,
                              "%y = nn.append %k, %r at %i along \"seq\" to \"key\" : (" + kept + ", " + rows + ", " + at + ") -> " + kept +
                                  "\nreturn %y : " + kept));
  ASSERT_TRUE(f.ok());
  std::vector<T> k = to<T>(randomFloats(14 * n)), r = to<T>(randomFloats(6 * n, 1, 2));
  std::vector<double> expected(k.begin(), k.end());
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0, key = positions[(b * 3 + i) % positions.size()]; j < n && key < 7; ++j)
        expected[(b * 7 + key) * n + j] = r[(b * 3 + i) * n + j];
  for (int64_t parts : {1, 3}) {
    std::vector<Buffer> results = f.run({k, r, positions}, {0}, parts);
    expectNear(results[0].as<T>(), expected, 0);
  }
}

TYPED_TEST(Kernel, Append) {
  for (int64_t n : sizes) {
    append<TypeParam>(n, "seq=3", {5, 6, 7});
    append<TypeParam>(n, "batch=2 seq=3", {5, 6, 7, 1, 2, 3});
  }
}
