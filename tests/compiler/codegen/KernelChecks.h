// Helpers of tests that run a prim as generated code and compare it with plain C++ in double.
#pragma once

#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace npar::codegen {

inline std::vector<float> randomFloats(size_t count, double scale = 1, unsigned seed = 1) {
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

inline std::string function(const std::string &arguments, const std::string &results, const std::string &body) {
  return "module { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}

inline const char *element(float) { return "f32"; }
inline const char *element(double) { return "f64"; }
template <typename T> double tolerance() { return sizeof(T) == 4 ? 4e-6 : 1e-14; }

/// y = op(x) on [rows, size].
template <typename T> std::vector<T> unary(const std::string &op, const std::vector<T> &x, int64_t rows, int64_t split = 1) {
  std::string type = tensorText("batch=" + std::to_string(rows) + " embed=" + std::to_string(x.size() / rows), element(T()));
  CompiledFunction f(function("%x: " + type, type, "%y = " + op + " : (" + type + ") -> " + type + "\nreturn %y : " + type));
  EXPECT_TRUE(f.ok()) << op;
  return f.run({x}, {0, 0, 1}, split)[0].template as<T>();
}

inline constexpr int64_t sizes[] = {1, 7, 15, 16, 17, 33, 64, 257};

using FloatAndDouble = testing::Types<float, double>;

} // namespace npar::codegen
