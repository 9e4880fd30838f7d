// Convolutions as windowed products of a program: they are what plain loops over images, filters and windows sum, in batches of groups too,
// with the same bits for every number of workers and every instruction set.
#include "engine/backends/cpu/CpuBackend.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace engine;
using program::ElementType;

/// Along y; along x the window is one longer and there is one more of padding in front. Images are [samples, y, x, groups, channels],
/// results [samples, y, x, groups, filters], weights [groups, filters, y, x, channels].
struct Convolution {
  int64_t samples, image, window, stride, dilation, before, after, groups, channels, filters;
  bool accumulates = false;

  int64_t windowX() const { return window + 1; }
  int64_t out(int64_t size, int64_t before) const { return (image + before + after - (size - 1) * dilation - 1) / stride + 1; }
  int64_t outY() const { return out(window, before); }
  int64_t outX() const { return out(windowX(), before + 1); }
  int64_t images() const { return samples * image * image * groups * channels; }
  int64_t results() const { return samples * outY() * outX() * groups * filters; }
  int64_t weights() const { return groups * filters * window * windowX() * channels; }
};

std::unique_ptr<program::WindowT> windowOf(int64_t size, int64_t stride, std::vector<int64_t> steps, int64_t before, int64_t spread = 1) {
  auto window = std::make_unique<program::WindowT>();
  window->size = size, window->stride = stride, window->steps = std::move(steps), window->before = before, window->spread = spread;
  return window;
}

std::unique_ptr<program::WalkedOperandT> walk(std::vector<int64_t> strides, std::unique_ptr<program::WindowT> y = nullptr,
                                              std::unique_ptr<program::WindowT> x = nullptr) {
  auto operand = std::make_unique<program::WalkedOperandT>();
  operand->strides = std::move(strides);
  for (auto *window : {&y, &x})
    if (*window)
      operand->windows.push_back(std::move(*window));
  return operand;
}

struct Strides {
  explicit Strides(const Convolution &c)
      : pixel(c.groups * c.channels), line(c.image * pixel), picture(c.image * line), result(c.groups * c.filters), row(c.outX() * result),
        all(c.outY() * row), tap(c.channels), taps(c.windowX() * tap), filter(c.window * taps) {}
  int64_t pixel, line, picture, result, row, all, tap, taps, filter;
};

enum class Kind { Forward, ImageGradient, WeightGradient };

program::MatmulT productOf(const Convolution &c, Kind kind, ElementType type) {
  const Strides s(c);
  program::MatmulT p;
  p.type = p.result = type, p.accumulate = c.accumulates;
  p.batch = {c.groups};
  p.windowed = std::make_unique<program::WindowedProductT>();
  program::WindowedProductT &w = *p.windowed;
  const int64_t step = c.stride, apart = c.dilation;
  auto image = [&] {
    return walk({s.picture, 0, 0, 0, 0, 1}, windowOf(c.image, s.line, {0, step, 0, apart, 0, 0}, c.before),
                windowOf(c.image, s.pixel, {0, 0, step, 0, apart, 0}, c.before + 1));
  };
  switch (kind) {
  case Kind::Forward:
    w.m = {c.samples, c.outY(), c.outX()}, w.n = {c.filters}, w.k = {c.window, c.windowX(), c.channels};
    w.a = image(), w.b = walk({s.taps, s.tap, 1, s.filter});
    p.a_batch = {c.channels}, p.b_batch = {c.filters * s.filter}, p.c_batch = {c.filters}, p.c_row = s.result;
    break;
  case Kind::ImageGradient:
    w.m = {c.samples, c.image, c.image}, w.n = {c.channels}, w.k = {c.window, c.windowX(), c.filters};
    w.a = walk({s.all, 0, 0, 0, 0, 1}, windowOf(c.outY(), s.row, {0, 1, 0, -apart, 0, 0}, -c.before, step),
               windowOf(c.outX(), s.result, {0, 0, 1, 0, -apart, 0}, -c.before - 1, step));
    w.b = walk({s.taps, s.tap, s.filter, 1});
    p.a_batch = {c.filters}, p.b_batch = {c.filters * s.filter}, p.c_batch = {c.channels}, p.c_row = s.pixel;
    break;
  case Kind::WeightGradient:
    w.m = {c.filters}, w.n = {c.window, c.windowX(), c.channels}, w.k = {c.samples, c.outY(), c.outX()};
    w.a = walk({1, s.all, s.row, s.result}), w.b = image();
    p.a_batch = {c.filters}, p.b_batch = {c.channels}, p.c_batch = {c.filters * s.filter}, p.c_row = s.filter;
    break;
  }
  auto count = [](const std::vector<int64_t> &sizes) {
    int64_t all = 1;
    for (int64_t size : sizes)
      all *= size;
    return all;
  };
  p.m = count(w.m), p.n = count(w.n), p.k = count(w.k);
  return p;
}

/// Calls `body` with the places of image, result and weight for every product that a convolution adds.
template <class Body> void forEachProduct(const Convolution &c, Body body) {
  const Strides s(c);
  for (int64_t n = 0; n < c.samples; ++n)
    for (int64_t y = 0; y < c.outY(); ++y)
      for (int64_t x = 0; x < c.outX(); ++x)
        for (int64_t v = 0; v < c.window; ++v)
          for (int64_t u = 0; u < c.windowX(); ++u) {
            int64_t row = y * c.stride + v * c.dilation - c.before, column = x * c.stride + u * c.dilation - c.before - 1;
            if (row < 0 || row >= c.image || column < 0 || column >= c.image)
              continue;
            for (int64_t g = 0; g < c.groups; ++g)
              for (int64_t f = 0; f < c.filters; ++f)
                for (int64_t i = 0; i < c.channels; ++i)
                  body(n * s.picture + row * s.line + column * s.pixel + g * c.channels + i,
                       n * s.all + y * s.row + x * s.result + g * c.filters + f,
                       (g * c.filters + f) * s.filter + v * s.taps + u * s.tap + i);
          }
}

template <typename T> std::vector<T> waves(int64_t count, uint32_t seed) {
  std::vector<T> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<T>(std::sin(double(i * 2654435761u % 1000003u + seed)));
  return all;
}

template <typename T>
std::vector<T> run(const program::MatmulT &product, const Spread &spread, const std::vector<T> &a, const std::vector<T> &b,
                   std::vector<T> c) {
  program::ProgramT content;
  content.matmuls.push_back(std::make_unique<program::MatmulT>(product));
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, CreateProgram(builder, &content));
  CpuBackend backend(spread);
  Status status = backend.load(*program::GetProgram(builder.GetBufferPointer()));
  EXPECT_TRUE(status.ok()) << status.message();
  auto address = [](const void *memory) { return DeviceAddress(const_cast<void *>(memory)); };
  if (status.ok()) {
    EXPECT_TRUE(backend.runMatmul(0, address(a.data()), address(b.data()), address(c.data())).ok());
  }
  return c;
}

/// The operands of a kind, and what is in C before.
template <typename T> struct Operands {
  Operands(const Convolution &c, Kind kind) {
    std::vector<T> image = waves<T>(c.images(), 1), result = waves<T>(c.results(), 2), weights = waves<T>(c.weights(), 3);
    a = kind == Kind::Forward ? image : result;
    b = kind == Kind::WeightGradient ? image : weights;
    before = kind == Kind::Forward ? result : kind == Kind::ImageGradient ? image : weights;
  }
  std::vector<T> a, b, before;
};

std::vector<Convolution> convolutions() {
  return {
      {2, 9, 3, 1, 1, 1, 1, 1, 5, 7},          // as most are
      {1, 11, 3, 2, 1, 1, 1, 1, 32, 34, true}, // stride 2, whole groups of channels
      {2, 12, 2, 3, 2, 0, 2, 1, 3, 20},        // stride, dilation and uneven padding
      {1, 8, 1, 2, 1, 0, 0, 1, 40, 17},        // rows of the image that no window touches
      {1, 8, 1, 2, 1, 0, 0, 1, 4, 3, true},    // the same, with a gradient added to what there is
      {2, 7, 3, 1, 2, 2, 2, 4, 8, 6},          // groups
      {1, 6, 4, 1, 1, 3, 3, 2, 16, 16, true},  // more padding than a window needs
  };
}

TEST(WindowedProductsTest, areConvolutionsAndTheirGradients) {
  for (const Convolution &c : convolutions())
    for (Kind kind : {Kind::Forward, Kind::ImageGradient, Kind::WeightGradient}) {
      Operands<double> o(c, kind);
      std::vector<double> expected = o.before, found = run(productOf(c, kind, ElementType::F64), {2, true}, o.a, o.b, o.before);
      if (!c.accumulates)
        std::fill(expected.begin(), expected.end(), 0);
      forEachProduct(c, [&](int64_t image, int64_t result, int64_t weight) {
        auto at = [](std::vector<double> &all, int64_t place) -> double & { return all[static_cast<size_t>(place)]; };
        if (kind == Kind::Forward)
          at(expected, result) += at(o.a, image) * at(o.b, weight);
        else if (kind == Kind::ImageGradient)
          at(expected, image) += at(o.a, result) * at(o.b, weight);
        else
          at(expected, weight) += at(o.a, result) * at(o.b, image);
      });
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 1e-11) << "kind " << int(kind) << ", image of " << c.image << ", element " << i;
    }
}

TEST(WindowedProductsTest, sameBitsForAnyWorkersAndInstructions) {
  Convolution large{2, 20, 3, 2, 1, 1, 1, 1, 32, 48}, grouped{2, 10, 3, 1, 1, 1, 1, 3, 8, 12};
  for (const Convolution &c : {large, grouped})
    for (Kind kind : {Kind::Forward, Kind::ImageGradient, Kind::WeightGradient}) {
      Operands<float> o(c, kind);
      std::vector<float> first;
      for (const char *set : {"plain", "avx2", "avx512", "tiles"})
        for (int threads : {1, 2, 4, 16}) {
          ::setenv("NPAR_INSTRUCTIONS", set, 1); // what the processor lacks is masked anyway
          std::vector<float> found = run(productOf(c, kind, ElementType::F32), {threads, threads > 1}, o.a, o.b, o.before);
          if (first.empty())
            first = found;
          EXPECT_EQ(std::memcmp(found.data(), first.data(), found.size() * 4), 0) << threads << " workers, " << set;
        }
      ::unsetenv("NPAR_INSTRUCTIONS");
    }
}

} // namespace
} // namespace npar::testing
