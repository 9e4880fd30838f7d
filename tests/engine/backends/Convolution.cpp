// Convolutions and their gradients as windowed products of a program: what walks which operand.
#include "tests/engine/backends/Convolution.h"

#include <memory>

namespace npar::testing {

using program::ElementType;

static std::unique_ptr<program::WindowT> windowOf(int64_t size, int64_t stride, std::vector<int64_t> steps, int64_t before,
                                                  int64_t spread = 1) {
  auto window = std::make_unique<program::WindowT>();
  window->size = size, window->stride = stride, window->steps = std::move(steps), window->before = before, window->spread = spread;
  return window;
}

static std::unique_ptr<program::WalkedOperandT> walk(std::vector<int64_t> strides, std::unique_ptr<program::WindowT> y = nullptr,
                                                     std::unique_ptr<program::WindowT> x = nullptr) {
  auto operand = std::make_unique<program::WalkedOperandT>();
  operand->strides = std::move(strides);
  for (auto *window : {&y, &x})
    if (*window)
      operand->windows.push_back(std::move(*window));
  return operand;
}

program::MatmulT productOf(const Convolution &c, ConvolutionKind kind, ElementType type, ElementType result) {
  const ConvolutionStrides s(c);
  program::MatmulT p;
  p.type = type, p.result = result, p.accumulate = c.accumulates;
  p.batch = {c.groups};
  p.windowed = std::make_unique<program::WindowedProductT>();
  program::WindowedProductT &w = *p.windowed;
  const int64_t step = c.stride, apart = c.dilation;
  auto image = [&] {
    return walk({s.picture, 0, 0, 0, 0, 1}, windowOf(c.image, s.line, {0, step, 0, apart, 0, 0}, c.before),
                windowOf(c.image, s.pixel, {0, 0, step, 0, apart, 0}, c.before + 1));
  };
  switch (kind) {
  case ConvolutionKind::Forward:
    w.m = {c.samples, c.outY(), c.outX()}, w.n = {c.filters}, w.k = {c.window, c.windowX(), c.channels};
    w.a = image(), w.b = walk({s.taps, s.tap, 1, s.filter});
    p.a_batch = {c.channels}, p.b_batch = {c.filters * s.filter}, p.c_batch = {c.filters}, p.c_row = s.result;
    break;
  case ConvolutionKind::ImageGradient:
    w.m = {c.samples, c.image, c.image}, w.n = {c.channels}, w.k = {c.window, c.windowX(), c.filters};
    w.a = walk({s.all, 0, 0, 0, 0, 1}, windowOf(c.outY(), s.row, {0, 1, 0, -apart, 0, 0}, -c.before, step),
               windowOf(c.outX(), s.result, {0, 0, 1, 0, -apart, 0}, -c.before - 1, step));
    w.b = walk({s.taps, s.tap, s.filter, 1});
    p.a_batch = {c.filters}, p.b_batch = {c.filters * s.filter}, p.c_batch = {c.channels}, p.c_row = s.pixel;
    break;
  case ConvolutionKind::WeightGradient:
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

} // namespace npar::testing
