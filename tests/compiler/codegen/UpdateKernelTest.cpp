// Optimizer, norm, learning rate and dropout kernels; dropout under sharding draws what one rank draws.
#include "tests/compiler/codegen/OptimizerText.h"
#include "tests/compiler/codegen/RunFunction.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

using namespace npar::codegen;

namespace {
std::vector<float> ramp(size_t count, double scale, double phase) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = scale * std::sin(phase + 0.7 * i);
  return values;
}
std::string function(const std::string &attributes, const std::string &arguments, const std::string &results, const std::string &body) {
  return "module " + attributes + " { func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n} }";
}
// The first word of Philox 4x32-10 (Salmon et al., SC 2011).
uint32_t philox(uint64_t counter, uint64_t step, uint64_t seed, uint64_t site) {
  uint32_t c[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(step), uint32_t(step >> 32)};
  uint32_t k[2] = {uint32_t(seed), uint32_t(seed >> 32) ^ uint32_t(site)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    uint32_t next[4] = {uint32_t(p1 >> 32) ^ c[1] ^ k[0], uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k[1], uint32_t(p0)};
    std::copy(next, next + 4, c);
    k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
  }
  return c[0];
}
const std::string scalar = "tensor<f64, #nn.axes<>>";
} // namespace

TEST(UpdateKernel, AdamwFollowsPyTorch) {
  for (size_t n : {1, 17, 100, 1000}) {
    std::string t = tensorText("embed=" + std::to_string(n), "f32");
    CompiledFunction f(function("", "%w: " + t + ", %g: " + t + ", %m: " + t + ", %v: " + t + ", %f: " + scalar + ", %r: " + scalar,
                                t + ", " + t + ", " + t,
                                adamwText("%a, %b, %c", "%f", "%r", t, t) + "return %a, %b, %c : " + t + ", " + t + ", " + t));
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f.kernels, n == 1 ? 1 : 2); // the bias corrections are computed once, not for each element
    std::vector<float> w = ramp(n, 1, 0), g = ramp(n, 2, 1), m = ramp(n, 0.1, 2), v = ramp(n, 0.1, 3);
    for (float &x : v)
      x = std::abs(x);
    double factor = 0.5, rate = 1e-2;
    int64_t step = 6;
    std::vector<Buffer> results = f.run({w, g, m, v, std::vector<double>{factor}, std::vector<double>{rate}}, {step, 0, 1}, 3);
    for (size_t i = 0; i < n; ++i) {
      double gradient = g[i] * factor, m1 = 0.9 * m[i] + 0.1 * gradient, v1 = 0.95 * v[i] + 0.05 * gradient * gradient;
      double w1 = w[i] * (1 - rate * 0.1) - rate / (1 - std::pow(0.9, 7)) * m1 / (std::sqrt(v1) / std::sqrt(1 - std::pow(0.95, 7)) + 1e-8);
      EXPECT_NEAR(results[0].as<float>()[i], w1, 2e-6);
      EXPECT_NEAR(results[1].as<float>()[i], m1, 1e-6);
      EXPECT_NEAR(results[2].as<float>()[i], v1, 1e-6);
    }
  }
}

// A norm that is not finite makes a gate after which no optimizer moves anything, whatever the gradient holds; a finite one changes no bit.
TEST(UpdateKernel, AGateThatIsClosedLeavesEverything) {
  std::string t = tensorText("embed=33", "f32");
  auto update = [&](bool gated) {
    std::string gate = gated ? "%f = nn.gate %c, %n : (" + scalar + ", " + scalar + ") -> " + scalar + "\n" : "";
    std::string factor = gated ? "%f" : "%c";
    return function("", "%w: " + t + ", %g: " + t + ", %m: " + t + ", %v: " + t + ", %c: " + scalar + ", %n: " + scalar + ", %r: " + scalar,
                    t + ", " + t + ", " + t + ", " + t + ", " + t,
                    gate + adamwText("%1, %2, %3", factor, "%r", t, t) + sgdText("%4, %5", factor, "%r", t) +
                        "return %1, %2, %3, %4, %5 : " + t + ", " + t + ", " + t + ", " + t + ", " + t);
  };
  CompiledFunction with(update(true)), without(update(false));
  ASSERT_TRUE(with.ok() && without.ok());
  std::vector<float> w = ramp(33, 1, 0), g = ramp(33, 2, 1), m = ramp(33, 0.1, 2), v(33, 0.1f);
  auto run = [&](CompiledFunction &f, double norm) {
    return f.run({w, g, m, v, std::vector<double>{0.5}, std::vector<double>{norm}, std::vector<double>{1e-2}}, {6, 0, 1}, 3);
  };
  std::vector<Buffer> open = run(with, 3.0), plain = run(without, 3.0);
  for (size_t i = 0; i < open.size(); ++i)
    EXPECT_EQ(open[i].bytes, plain[i].bytes);
  g[5] = NAN, g[6] = INFINITY;
  for (double norm : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    std::vector<Buffer> closed = run(with, norm);
    for (auto [index, old] : {std::pair(0, &w), {1, &m}, {2, &v}, {3, &w}, {4, &m}})
      EXPECT_EQ(closed[index].as<float>(), *old);
  }
}

TEST(UpdateKernel, NormClipAndLearningRate) {
  std::string t = tensorText("embed=1000", "f32"), u = tensorText("hidden=33", "f32"), sums = tensorText("bin=56", "f64");
  CompiledFunction f(
      function("", "%a: " + t + ", %b: " + u, sums + ", " + scalar + ", " + scalar + ", " + scalar,
               "%s = nn.square_sums %a, %b parameters [3, 1] : (" + t + ", " + u + ") -> " + sums + "\n%n = nn.grad_norm %s : (" + sums +
                   ") -> " + scalar + "\n%c = nn.clip_factor %n max 1.0 : (" + scalar + ") -> " + scalar +
                   "\n%r = nn.learning_rate \"cosine\" {peak = 1.0e-3, warmup = 10, steps = 110, final = 1.0e-4} : " + scalar +
                   "\nreturn %s, %n, %c, %r : " + sums + ", " + scalar + ", " + scalar + ", " + scalar));
  ASSERT_TRUE(f.ok());
  std::vector<float> a = ramp(1000, 1, 0), b = ramp(33, 3, 1);
  double first = 0, second = 0;
  for (float x : a)
    first += double(x) * x;
  for (float x : b)
    second += double(x) * x;
  for (int64_t step : {0, 4, 10, 60, 110, 200}) {
    std::vector<Buffer> results = f.run({a, b}, {step, 0, 1});
    std::vector<double> bins = results[0].as<double>();
    EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), first + second, 1e-12 * (first + second));
    double norm = std::sqrt(first + second);
    EXPECT_NEAR(results[1].as<double>()[0], norm, 1e-12 * norm);
    EXPECT_NEAR(results[2].as<double>()[0], 1 / (norm + 1e-6), 1e-12);
    double progress = std::min(1.0, std::max(0.0, (step - 10) / 100.0));
    double rate = step < 10 ? 1e-3 * (step + 1) / 10 : 1e-4 + 9e-4 * 0.5 * (1 + std::cos(M_PI * progress));
    EXPECT_NEAR(results[3].as<double>()[0], rate, 1e-15);
  }
}

// The words of a run replace lengths and move the step: a training that had 18 steps of half the batch is at its step 9.
TEST(UpdateKernel, LearningRatesOfARun) {
  std::string lengths = "warmup = 1, steps = 1";
  CompiledFunction f(function("attributes {dist.mesh = #dist.mesh<tp = 2>}", "", scalar + ", " + scalar + ", " + scalar,
                              "%a = nn.learning_rate \"linear\" {peak = 0.5, " + lengths + ", final = 0.1, run = 0} : " + scalar +
                                  "\n%b = nn.learning_rate \"step\" {peak = 0.5, " + lengths +
                                  ", final = 0.0, factor = 0.5, every = 1, run = 4} : " + scalar +
                                  "\n%c = nn.learning_rate \"constant\" {peak = 0.5, " + lengths + ", final = 0.0, run = 8} : " + scalar +
                                  "\nreturn %a, %b, %c : " + scalar + ", " + scalar + ", " + scalar));
  ASSERT_TRUE(f.ok());
  const double epoch = 1000.0 / 48; // steps, none of whose multiples is a float64
  const std::vector<double> words = {-9, 3, 13, 1, 0, 0, 0, epoch, 0, 0, 0, 1};
  for (int64_t step : {9, 11, 12, 17, 22, 40, 125, 126, 250, 1000}) {
    std::vector<int64_t> context = {step, 0, 1, 1};
    context.resize(context.size() + words.size());
    std::memcpy(&context[4], words.data(), words.size() * sizeof(double));
    std::vector<Buffer> results = f.run({}, context);
    const double t = static_cast<double>(step - 9), progress = std::min(1.0, std::max(0.0, (t - 3) / 10));
    EXPECT_NEAR(results[0].as<double>()[0], t < 3 ? 0.5 * (t + 1) / 3 : 0.5 - 0.4 * progress, 1e-15) << step;
    EXPECT_NEAR(results[1].as<double>()[0], 0.5 * std::pow(0.5, static_cast<double>(step * 48 / 1000)), 1e-15) << step;
    EXPECT_EQ(results[2].as<double>()[0], 0.5) << step;
  }
}

// Two shards of `seq` and of `embed` together are the whole, bit for bit; micro-batches and steps differ.
TEST(UpdateKernel, DropoutIsTheSameUnderSharding) {
  std::string whole = "tensor<2x6x32xf32, #dist.layout<batch : 2, seq : 6, embed : 32>>";
  std::string part = "tensor<2x3x16xf32, #dist.layout<batch : 2, seq : 6 {tp}, embed : 32 {cp}>>";
  auto dropout = [&](const std::string &t) {
    return function("attributes {dist.mesh = #dist.mesh<tp = 2, cp = 2>}", "%x: " + t, t,
                    "%y = nn.dropout %x {rate = 0.25, site = \"h.0.drop\"} : (" + t + ") -> " + t + "\nreturn %y : " + t);
  };
  CompiledFunction one(dropout(whole)), shard(dropout(part));
  ASSERT_TRUE(one.ok() && shard.ok());
  std::vector<float> x(2 * 6 * 32, 1.0f), local(2 * 3 * 16, 1.0f);
  std::vector<float> y = one.run({x}, {5, 2, 42, 0, 0})[0].as<float>();
  EXPECT_EQ(philox(0, 0, 0, 0), 0x6627e8d5u); // the paper's known answer
  int kept = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    bool keep = philox(2 * y.size() + i, 5, 42, llvm::xxh3_64bits(llvm::StringRef("h.0.drop"))) >= 0.25 * 4294967296.0;
    EXPECT_EQ(y[i], keep ? float(1 / 0.75) : 0.0f);
    kept += keep;
  }
  EXPECT_NEAR(kept / 384.0, 0.75, 0.08);
  for (int64_t tp = 0; tp < 2; ++tp)
    for (int64_t cp = 0; cp < 2; ++cp) {
      std::vector<float> z = shard.run({local}, {5, 2, 42, tp, cp})[0].as<float>();
      for (int b = 0; b < 2; ++b)
        for (int s = 0; s < 3; ++s)
          for (int e = 0; e < 16; ++e)
            ASSERT_EQ(z[(b * 3 + s) * 16 + e], y[(b * 6 + tp * 3 + s) * 32 + cp * 16 + e]);
    }
  EXPECT_NE(y, one.run({x}, {5, 3, 42, 0, 0})[0].as<float>());
  EXPECT_NE(y, one.run({x}, {6, 2, 42, 0, 0})[0].as<float>());
  EXPECT_NE(y, one.run({x}, {5, 2, 43, 0, 0})[0].as<float>());
}

// Shards of a padded axis: the sum over 7 of 8 elements, the mask of padding, the slice of a whole tensor.
TEST(UpdateKernel, PaddingIsNeutral) {
  std::string part = "tensor<3x4xf32, #dist.layout<seq : 3, vocab : 7 {tp}>>", row = "tensor<3xf32, #dist.layout<seq : 3>>";
  std::string whole = "tensor<3x7xf32, #dist.layout<seq : 3, vocab : 7>>";
  CompiledFunction f(function(
      "attributes {dist.mesh = #dist.mesh<tp = 2>}", "%x: " + part + ", %w: " + whole, row + ", " + row + ", " + part + ", " + part,
      "%s = nn.sum %x : (" + part + ") -> " + row + "\n%m = nn.max %x : (" + part + ") -> " + row +
          "\n%p = dist.mask_padding %x {dims = [\"vocab\"]} : " + part + "\n%c = dist.slice %w {axes = [\"tp\"], dim = \"vocab\"} : " +
          whole + " -> " + part + "\nreturn %s, %m, %p, %c : " + row + ", " + row + ", " + part + ", " + part));
  ASSERT_TRUE(f.ok());
  std::vector<float> x = {1, 2, 3, 100, 5, 6, 7, 100, -9, -8, -7, 100}, w;
  for (int i = 0; i < 21; ++i)
    w.push_back(i + 1);
  std::vector<Buffer> results = f.run({x, w}, {0, 0, 1, 1});
  EXPECT_EQ(results[0].as<float>(), (std::vector<float>{6, 18, -24}));
  EXPECT_EQ(results[1].as<float>(), (std::vector<float>{3, 7, -7}));
  EXPECT_EQ(results[2].as<float>(), (std::vector<float>{1, 2, 3, 0, 5, 6, 7, 0, -9, -8, -7, 0}));
  EXPECT_EQ(results[3].as<float>(), (std::vector<float>{5, 6, 7, 0, 12, 13, 14, 0, 19, 20, 21, 0}));
  results = f.run({x, w}, {0, 0, 1, 0});
  EXPECT_EQ(results[0].as<float>(), (std::vector<float>{106, 118, 76}));
  EXPECT_EQ(results[3].as<float>(), (std::vector<float>{1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 17, 18}));
}
