// Kernels on bf16 and f16: conversions of all values, one rounding per op, sums in f32, and bits that no fusion changes.
#include "engine/numbers/NarrowFloat.h"
#include "tests/compiler/codegen/OptimizerText.h"
#include "tests/compiler/codegen/RunFunction.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace npar::codegen;
using npar::engine::BFloat16;
using npar::engine::Float16;

namespace {
std::string narrowFunction(const std::string &arguments, const std::string &results, const std::string &body) {
  return "module { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}

uint32_t bitsOf(float value) { return npar::engine::bitsOfFloat(value); }

/// Finite bf16 and f16 of many sizes.
template <typename Narrow> std::vector<Narrow> values(size_t count, double phase) {
  std::vector<Narrow> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(Narrow(static_cast<float>(std::sin(phase + 0.7 * static_cast<double>(i)) * std::exp2(static_cast<double>(i % 7) - 3))));
  return all;
}
template <typename Narrow> std::vector<float> widened(const std::vector<Narrow> &from) {
  std::vector<float> all;
  for (Narrow value : from)
    all.push_back(static_cast<float>(value));
  return all;
}
template <typename Narrow> std::vector<uint16_t> bitsOf(const std::vector<float> &from) {
  std::vector<uint16_t> all;
  for (float value : from)
    all.push_back(Narrow(value).bits);
  return all;
}

template <typename Narrow> const char *nameOf();
template <> const char *nameOf<BFloat16>() { return "bf16"; }
template <> const char *nameOf<Float16>() { return "f16"; }

template <typename Narrow> class NarrowKernel : public testing::Test {};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(NarrowKernel, Types);

/// `body` on tensors of the 16-bit type, and on f32 tensors of the same values, rounded at the end.
template <typename Narrow>
void expectOneRounding(const std::vector<std::string> &axes, const std::string &resultAxes, const std::string &body,
                       const std::vector<size_t> &counts) {
  std::vector<std::vector<uint16_t>> results;
  for (std::string element : {std::string(nameOf<Narrow>()), std::string("f32")}) {
    std::string arguments, types;
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < axes.size(); ++i) {
      std::string type = tensorText(axes[i], element);
      arguments += (i ? ", %" : "%") + std::string(1, char('a' + i)) + ": " + type;
      types += (i ? ", " : "") + type;
      std::vector<Narrow> input = values<Narrow>(counts[i], double(i) + 1);
      buffers.push_back(element == "f32" ? Buffer(widened(input)) : Buffer(input));
    }
    std::string result = tensorText(resultAxes, element);
    CompiledFunction f(narrowFunction(arguments, result, "%r = " + body + " : (" + types + ") -> " + result + "\nreturn %r : " + result));
    ASSERT_TRUE(f.ok()) << body;
    Buffer got = f.run(buffers, {0, 0, 1}, 3)[0];
    results.push_back(element == "f32" ? bitsOf<Narrow>(got.as<float>()) : got.as<uint16_t>());
  }
  EXPECT_EQ(results[0], results[1]) << body << " on " << counts[0];
}
} // namespace

// Every value of 16 bits as f32, and back to itself.
TYPED_TEST(NarrowKernel, AllValuesWidenAndComeBack) {
  std::string n = tensorText("embed=65536", nameOf<TypeParam>()), w = tensorText("embed=65536", "f32");
  CompiledFunction f(narrowFunction("%x: " + n + ", %y: " + w, w + ", " + n,
                                    "%a = nn.convert %x : (" + n + ") -> " + w + "\n%b = nn.convert %y : (" + w + ") -> " + n +
                                        "\nreturn %a, %b : " + w + ", " + n));
  ASSERT_TRUE(f.ok());
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(65536);
  for (size_t i = 0; i < all.size(); ++i) {
    TypeParam value;
    value.bits = all[i];
    wide[i] = static_cast<float>(value);
  }
  std::vector<Buffer> results = f.run({all, wide}, {0, 0, 1}, 2);
  std::vector<uint32_t> bits = results[0].as<uint32_t>();
  std::vector<uint16_t> back = results[1].as<uint16_t>();
  bool half = std::is_same_v<TypeParam, Float16>;
  int quiet = half ? 0x0200 : 0x0040;
  for (int i = 0; i < 65536; ++i) {
    ASSERT_EQ(bits[i], bitsOf(wide[i])) << i;
    ASSERT_EQ(back[i], std::isnan(wide[i]) ? i | quiet : i);
    if (half && std::isfinite(wide[i])) { // by the definition
      int exponent = i >> 10 & 31, mantissa = i & 1023;
      double size = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
      ASSERT_EQ(wide[i], float(i & 0x8000 ? -size : size));
    } else if (!half && !std::isnan(wide[i])) {
      ASSERT_EQ(bits[i], uint32_t(i) << 16);
    }
  }
}

// Rows whose last vector has any number of lanes, computed from the last to the first: none touches the one after it.
TYPED_TEST(NarrowKernel, RowsStayInTheirRoom) {
  for (size_t size : {3, 17, 31, 65, 81}) {
    std::string x = tensorText("batch=6 embed=" + std::to_string(size), nameOf<TypeParam>());
    std::string s = tensorText("batch=6", nameOf<TypeParam>());
    CompiledFunction f(narrowFunction("%x: " + x, x,
                                      "%m = nn.max %x : (" + x + ") -> " + s + "\n%y = nn.sub %x, %m : (" + x + ", " + s + ") -> " + x +
                                          "\nreturn %y : " + x));
    ASSERT_TRUE(f.ok());
    std::vector<TypeParam> input = values<TypeParam>(6 * size, 1);
    EXPECT_EQ(f.run({input}, {0, 0, 1}, 6)[0].bytes, f.run({input}, {0, 0, 1}, 1)[0].bytes) << size;
  }
}

// Rounds numbers between two neighbours: the midpoint to the even one, numbers next to it to the nearer one.
TYPED_TEST(NarrowKernel, RoundsToNearestEven) {
  std::vector<float> inputs;
  std::vector<uint16_t> expected;
  auto add = [&](float x, int bits) {
    for (int sign : {0, 1}) {
      inputs.push_back(sign ? -x : x);
      expected.push_back(static_cast<uint16_t>(bits | sign << 15));
    }
  };
  bool half = std::is_same_v<TypeParam, Float16>;
  int infinite = half ? 0x7C00 : 0x7F80;
  for (int i = 0; i + 1 < infinite; ++i) {
    TypeParam low, high;
    low.bits = static_cast<uint16_t>(i), high.bits = static_cast<uint16_t>(i + 1);
    float middle = float((double(float(low)) + double(float(high))) / 2);
    add(middle, i + (i & 1));
    add(std::nextafter(middle, 0.0f), i);
    add(std::nextafter(middle, INFINITY), i + 1);
  }
  float overflow = half ? 65520.0f : npar::engine::floatOfBits(0x7F7F8000u);
  add(overflow, infinite);
  add(std::nextafter(overflow, 0.0f), infinite - 1);
  add(INFINITY, infinite);
  add(3e38f, half ? infinite : 0x7F62);
  size_t size = inputs.size();
  std::string n = tensorText("embed=" + std::to_string(size), nameOf<TypeParam>());
  std::string w = tensorText("embed=" + std::to_string(size), "f32");
  CompiledFunction f(narrowFunction("%x: " + w, n, "%a = nn.convert %x : (" + w + ") -> " + n + "\nreturn %a : " + n));
  ASSERT_TRUE(f.ok());
  std::vector<uint16_t> got = f.run({inputs})[0].as<uint16_t>();
  for (size_t i = 0; i < size; ++i) {
    ASSERT_EQ(got[i], expected[i]) << inputs[i];
    ASSERT_EQ(TypeParam(inputs[i]).bits, expected[i]) << inputs[i]; // the engine's conversion too
  }
}

TYPED_TEST(NarrowKernel, OpsRoundOnce) {
  for (size_t n : {1, 7, 16, 65, 1000}) {
    std::string axis = "embed=" + std::to_string(n);
    for (const char *op : {"nn.gelu %a {approximate = \"tanh\"}", "nn.exp %a", "nn.relu %a", "nn.scale %a by 0.3"})
      expectOneRounding<TypeParam>({axis}, axis, op, {n});
    for (const char *op : {"nn.add %a, %b", "nn.mul %a, %b", "nn.div %a, %b", "nn.tanh_grad %a, %b"})
      expectOneRounding<TypeParam>({axis, axis}, axis, op, {n, n});
  }
}

// Sums are f32 until they are stored, in rows and in columns.
TYPED_TEST(NarrowKernel, ReductionsRoundOnce) {
  expectOneRounding<TypeParam>({"batch=37 embed=500"}, "batch=37", "nn.sum %a", {37 * 500});
  expectOneRounding<TypeParam>({"batch=500 embed=37"}, "embed=37", "nn.sum %a", {37 * 500});
  expectOneRounding<TypeParam>({"batch=37 embed=500"}, "", "nn.sum %a", {37 * 500});
  expectOneRounding<TypeParam>({"batch=37 embed=500"}, "batch=37", "nn.max %a", {37 * 500});
  // A product that no library takes: 'seq' is summed of one operand alone.
  expectOneRounding<TypeParam>({"batch=5 embed=16 seq=9", "embed=16"}, "batch=5", "nn.einsum %a, %b", {5 * 16 * 9, 16});
}

// Two ops in one kernel give the bits of two kernels: what one hands to the other is rounded.
TYPED_TEST(NarrowKernel, FusionChangesNoBit) {
  std::string t = tensorText("batch=20 embed=100", nameOf<TypeParam>());
  std::string binary = " : (" + t + ", " + t + ") -> " + t, unary = " : (" + t + ") -> " + t;
  CompiledFunction fused(
      narrowFunction("%a: " + t + ", %b: " + t, t,
                     "%1 = nn.mul %a, %b" + binary + "\n%2 = nn.exp %1" + unary + "\n%3 = nn.add %2, %a" + binary + "\nreturn %3 : " + t));
  ASSERT_TRUE(fused.ok());
  EXPECT_EQ(fused.kernels, 1);
  std::vector<TypeParam> a = values<TypeParam>(2000, 1), b = values<TypeParam>(2000, 2);
  std::vector<uint16_t> expected;
  for (size_t i = 0; i < a.size(); ++i)
    expected.push_back(TypeParam(float(a[i]) * float(b[i])).bits);
  CompiledFunction exponential(narrowFunction("%a: " + t, t, "%1 = nn.exp %a" + unary + "\nreturn %1 : " + t));
  expected = exponential.run({expected})[0].as<uint16_t>();
  for (size_t i = 0; i < a.size(); ++i) {
    TypeParam e;
    e.bits = expected[i];
    expected[i] = TypeParam(float(e) + float(a[i])).bits;
  }
  std::vector<Buffer> results = fused.run({a, b}, {0, 0, 1}, 3);
  EXPECT_EQ(results[0].as<uint16_t>(), expected);
}

// A table's gradient adds up in f32; rows are looked up without arithmetic.
TYPED_TEST(NarrowKernel, GatherAndScatterAdd) {
  std::string table = tensorText("vocab=9 embed=70", nameOf<TypeParam>()), rows = tensorText("batch=300 embed=70", nameOf<TypeParam>());
  std::string wide = tensorText("vocab=9 embed=70", "f32"), idx = tensorText("batch=300", "i32");
  CompiledFunction f(narrowFunction("%t: " + table + ", %i: " + idx + ", %d: " + rows, rows + ", " + wide,
                                    "%g = nn.gather %t, %i over \"vocab\" : (" + table + ", " + idx + ") -> " + rows +
                                        "\n%s = nn.scatter_add %i, %d over \"vocab\" : (" + idx + ", " + rows + ") -> " + wide +
                                        "\nreturn %g, %s : " + rows + ", " + wide));
  ASSERT_TRUE(f.ok());
  std::vector<TypeParam> t = values<TypeParam>(9 * 70, 1), d = values<TypeParam>(300 * 70, 2);
  std::vector<int32_t> indices(300);
  std::vector<uint16_t> gathered;
  std::vector<float> sums(9 * 70, 0.0f);
  for (int i = 0; i < 300; ++i) {
    indices[i] = i * 7 % 9;
    for (int j = 0; j < 70; ++j) {
      gathered.push_back(t[indices[i] * 70 + j].bits);
      sums[indices[i] * 70 + j] += float(d[i * 70 + j]);
    }
  }
  std::vector<Buffer> results = f.run({t, indices, d}, {0, 0, 1}, 2);
  EXPECT_EQ(results[0].as<uint16_t>(), gathered);
  EXPECT_EQ(results[1].as<float>(), sums);
}

// One AdamW step of a master in f32 with a 16-bit gradient: the parameter is the rounded master. A factor that is no number changes
// nothing.
TYPED_TEST(NarrowKernel, AdamwMovesTheMaster) {
  constexpr size_t n = 100;
  std::string t = tensorText("embed=100", "f32"), g = tensorText("embed=100", nameOf<TypeParam>()), s = "tensor<f64, #nn.axes<>>";
  auto step = [&](const std::string &gradient) {
    return std::make_unique<CompiledFunction>(
        narrowFunction("%w: " + t + ", %g: " + gradient + ", %m: " + t + ", %v: " + t + ", %f: " + s + ", %r: " + s + ", %c: " + s,
                       t + ", " + t + ", " + t + ", " + g,
                       adamwText("%a, %b, %d", "%f", "%r", t, gradient, "%c") + "%p = nn.convert %a : (" + t + ") -> " + g +
                           "\nreturn %a, %b, %d, %p : " + t + ", " + t + ", " + t + ", " + g));
  };
  std::vector<float> w = widened(values<TypeParam>(n, 1)), m = widened(values<TypeParam>(n, 2)), v(n, 0.25f);
  std::vector<TypeParam> gradient = values<TypeParam>(n, 3);
  std::vector<double> factor{0.5}, rate{1e-2}, counted{6};
  auto narrow = step(g), wide = step(t);
  ASSERT_TRUE(narrow->ok() && wide->ok());
  std::vector<Buffer> got = narrow->run({w, gradient, m, v, factor, rate, counted}, {99, 0, 1}, 2);
  std::vector<Buffer> expected = wide->run({w, widened(gradient), m, v, factor, rate, counted}, {99, 0, 1}, 2);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(got[i].bytes, expected[i].bytes);
  EXPECT_EQ(got[3].template as<uint16_t>(), bitsOf<TypeParam>(got[0].template as<float>()));
  for (size_t i = 0; i < n; ++i) { // the seventh counted step, whatever the data step
    double x = float(gradient[i]) * 0.5, m1 = 0.9 * m[i] + 0.1 * x, v1 = 0.95 * v[i] + 0.05 * x * x;
    double w1 = w[i] * (1 - 1e-3) - 1e-2 / (1 - std::pow(0.9, 7)) * m1 / (std::sqrt(v1) / std::sqrt(1 - std::pow(0.95, 7)) + 1e-8);
    EXPECT_NEAR(got[0].template as<float>()[i], w1, 4e-6);
  }
  std::vector<Buffer> skipped = narrow->run({w, gradient, m, v, std::vector<double>{NAN}, rate, counted});
  EXPECT_EQ(skipped[0].template as<float>(), w);
  EXPECT_EQ(skipped[1].template as<float>(), m);
  EXPECT_EQ(skipped[2].template as<float>(), v);
}

// RULES.md#N7: doubled after an interval of good steps, halved after a bad one, never below 1; bad steps are not counted.
TEST(LossScaleKernel, GrowsAndBacksOff) {
  std::string s = "tensor<f64, #nn.axes<>>";
  auto several = [&](int count) {
    std::string text = s;
    for (int i = 1; i < count; ++i)
      text += ", " + s;
    return text;
  };
  CompiledFunction f(narrowFunction("%a: " + s + ", %b: " + s + ", %c: " + s + ", %n: " + s + ", %f: " + s, several(4),
                                    "%1, %2, %3 = nn.loss_scale %a, %b, %c, %n {interval = 3} : (" + several(4) + ") -> (" + several(3) +
                                        ")\n%u = nn.div %f, %a : (" + several(2) + ") -> " + s + "\n%5 = nn.gate %u, %n : (" + several(2) +
                                        ") -> " + s + "\nreturn %1, %2, %3, %5 : " + several(4)));
  ASSERT_TRUE(f.ok());
  using Scalars = std::vector<double>;
  auto next = [&](double scale, double streak, double counted, double norm) {
    Scalars results;
    for (const Buffer &buffer : f.run({Scalars{scale}, Scalars{streak}, Scalars{counted}, Scalars{norm}, Scalars{0.5}}))
      results.push_back(buffer.as<double>()[0]);
    return results;
  };
  EXPECT_EQ(next(1024, 0, 5, 2.0), (Scalars{1024, 1, 6, 0.5 / 1024}));
  EXPECT_EQ(next(1024, 2, 7, 2.0), (Scalars{2048, 0, 8, 0.5 / 1024}));
  for (double bad : {double(INFINITY), -double(INFINITY), double(NAN)}) {
    Scalars results = next(1024, 2, 7, bad);
    EXPECT_TRUE(std::isnan(results.back()));
    results.pop_back();
    EXPECT_EQ(results, (Scalars{512, 0, 7}));
  }
  EXPECT_EQ(next(1, 0, 0, NAN)[0], 1);
}
