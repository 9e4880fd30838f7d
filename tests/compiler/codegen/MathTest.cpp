// Elementary functions in double against the C library's in long double, in units of the last place.
#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace npar::codegen;

namespace {

/// The results of `op` for the numbers `x`.
std::vector<double> valuesOf(const std::string &op, const std::vector<double> &x) {
  std::string type = tensorText("embed=" + std::to_string(x.size()), "f64");
  CompiledFunction f("module { func.func @f(%x: " + type + ") -> (" + type + ") {\n%y = " + op + " %x : (" + type + ") -> " + type +
                     "\nreturn %y : " + type + "\n} }");
  EXPECT_TRUE(f.ok()) << op;
  return f.run({x})[0].as<double>();
}

/// Random numbers between two bounds, uniform in value or in logarithm.
std::vector<double> drawn(double low, double high, bool byLogarithm = false) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> between(byLogarithm ? std::log(low) : low, byLogarithm ? std::log(high) : high);
  std::vector<double> numbers(20000);
  for (double &number : numbers)
    number = byLogarithm ? std::exp(between(random)) : between(random);
  return numbers;
}

double unitsApart(double value, long double exact) {
  auto rounded = static_cast<double>(exact);
  long double unit = std::nextafter(std::abs(rounded), INFINITY) - static_cast<long double>(std::abs(rounded));
  return static_cast<double>(std::abs(value - exact) / unit);
}

template <class Exact> double worst(const std::string &op, const std::vector<double> &x, Exact exact) {
  std::vector<double> y = valuesOf(op, x);
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i)
    most = std::max(most, unitsApart(y[i], exact(static_cast<long double>(x[i]))));
  return most;
}

} // namespace

TEST(MathF64, ExpIsWithinAUnit) {
  auto exp = [](long double v) { return std::exp(v); };
  for (auto [low, high] : {std::pair(-1.0, 1.0), {-708.0, 709.0}, {-745.0, -708.0}})
    EXPECT_LE(worst("nn.exp", drawn(low, high), exp), 1.0) << low;
  EXPECT_EQ(valuesOf("nn.exp", {0.0, -0.0, -800.0, 710.0}), (std::vector<double>{1, 1, 0, INFINITY}));
}

TEST(MathF64, LogIsWithinAUnit) {
  auto log = [](long double v) { return std::log(v); };
  EXPECT_LE(worst("nn.log", drawn(0.5, 2), log), 1.0);
  EXPECT_LE(worst("nn.log", drawn(1e-300, 1e300, true), log), 1.0);
  EXPECT_LE(worst("nn.log", drawn(1e-320, 1e-308, true), log), 1.0); // denormals
  EXPECT_EQ(valuesOf("nn.log", {1.0, 0.0, INFINITY}), (std::vector<double>{0, -INFINITY, INFINITY}));
}

TEST(MathF64, TanhIsWithinOneAndAHalf) {
  auto tanh = [](long double v) { return std::tanh(v); };
  for (auto [low, high] : {std::pair(-1.0, 1.0), {0.6, 20.0}, {-1e-3, 1e-3}})
    EXPECT_LE(worst("nn.tanh", drawn(low, high), tanh), 1.5) << low;
  EXPECT_EQ(valuesOf("nn.tanh", {0.0, 30.0, -INFINITY}), (std::vector<double>{0, 1, -1}));
}

// Gelu adds erf to 1, halves and multiplies.
TEST(MathF64, ErfIsWithinOneAndAHalf) {
  auto gelu = [](long double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0L))); };
  EXPECT_LE(worst("nn.gelu", drawn(0, 9), gelu), 2.5);
  EXPECT_EQ(valuesOf("nn.gelu", {10.0, -10.0}), (std::vector<double>{10, -0.0}));
}

// Uses angles of many turns, whose reduction leaves a small part of a turn.
TEST(MathF64, WavesAreWithinTwoUnits) {
  constexpr int64_t count = 500, half = 8;
  std::mt19937_64 random(3);
  std::vector<int32_t> positions(count);
  for (int32_t &position : positions)
    position = static_cast<int32_t>(random() % (uint64_t{1} << (1 + random() % 30)));
  std::string table = tensorText("seq=500 half=8", "f64"), seq = tensorText("seq=500", "i32");
  for (bool sine : {false, true}) {
    CompiledFunction f("module { func.func @f(%i: " + seq + ") -> (" + table +
                       ") {\n%w = nn.sinusoid %i along \"half\" base 10000.0 wave \"" + (sine ? "sin" : "cos") + "\" : (" + seq + ") -> " +
                       table + "\nreturn %w : " + table + "\n} }");
    ASSERT_TRUE(f.ok());
    std::vector<double> values = f.run({positions})[0].as<double>();
    for (int64_t i = 0; i < count * half; ++i) {
      auto exponent = static_cast<float>(i % half) / static_cast<float>(half);
      double frequency = 1.0F / static_cast<float>(std::pow(10000.0, static_cast<double>(exponent)));
      double angle = positions[i / half] * static_cast<double>(static_cast<float>(frequency));
      long double exact = sine ? std::sin(static_cast<long double>(angle)) : std::cos(static_cast<long double>(angle));
      ASSERT_LE(unitsApart(values[i], exact), 2) << (sine ? "sin " : "cos ") << angle;
    }
  }
}

// 1 - beta^t has few digits left of those of beta^t in the first steps: these are the nearest ones.
TEST(MathF64, PowersAreRoundedToNearest) {
  for (double beta : {0.9, 0.95, 0.98, 0.99, 0.999, 0.9999}) {
    std::string s = "tensor<f64, #nn.axes<>>";
    char number[32];
    std::snprintf(number, sizeof number, "%.17g", beta);
    CompiledFunction f("module { func.func @f(%lr: " + s + ") -> (" + s + ", " + s +
                       ") {\n%m, %r = nn.step_values %lr {names = [\"lr\"], " + "definitions = [], formulas = [\"sub(1, pow(" + number +
                       ", t))\", \"sqrt(sub(1, pow(0.5, t)))\"]} : (" + s + ") -> (" + s + ", " + s + ")\nreturn %m, %r : " + s + ", " + s +
                       "\n} }");
    ASSERT_TRUE(f.ok());
    int others = 0;
    for (int64_t step = 0; step < 1000; ++step) {
      std::vector<Buffer> results = f.run({std::vector<double>{1}}, {step, 0, 1});
      auto t = static_cast<long double>(step + 1);
      auto nearest = static_cast<double>(std::pow(static_cast<long double>(beta), t));
      double found = results[0].as<double>()[0];
      EXPECT_NEAR(found, 1 - nearest, 1.2e-16) << beta << " " << step;
      others += found != 1 - nearest;
      EXPECT_EQ(results[1].as<double>()[0], std::sqrt(1 - std::ldexp(1.0, -static_cast<int>(step + 1)))) << step;
      if (step < 3) {
        EXPECT_EQ(found, 1 - nearest) << beta << " " << step;
      }
    }
    EXPECT_LE(others, 10) << beta;
  }
}
