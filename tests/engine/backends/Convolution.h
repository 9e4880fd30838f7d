// Convolutions and their gradients as windowed products of a program, for tests of backends.
#pragma once

#include "engine/program/Program_generated.h"

#include <vector>

namespace npar::testing {

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

/// Distances in elements.
struct ConvolutionStrides {
  explicit ConvolutionStrides(const Convolution &c)
      : pixel(c.groups * c.channels), line(c.image * pixel), picture(c.image * line), result(c.groups * c.filters), row(c.outX() * result),
        all(c.outY() * row), tap(c.channels), taps(c.windowX() * tap), filter(c.window * taps) {}
  int64_t pixel, line, picture, result, row, all, tap, taps, filter;
};

enum class ConvolutionKind { Forward, ImageGradient, WeightGradient };

/// A convolution, or a gradient of one, as a product: the element type of its operands, and that of its result.
program::MatmulT productOf(const Convolution &convolution, ConvolutionKind kind, program::ElementType type, program::ElementType result);

/// Convolutions of every kind, small.
std::vector<Convolution> convolutions();

} // namespace npar::testing
