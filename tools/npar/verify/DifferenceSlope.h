// The slope of a function by finite differences, told from the slope of its kinks: what a gradient is checked against.
#pragma once

#include "engine/status/Status.h"

#include <cmath>
#include <functional>

namespace npar::driver {

/// A loss along a line, at a distance from the point whose slope is asked for.
using LossAlong = std::function<engine::Result<double>(double distance)>;

/// The largest relative error of a right slope.
constexpr double slopeBound = 1e-5;

struct SlopeCheck {
  double difference = NAN; ///< the slope by differences that comes nearest
  double error = INFINITY; ///< |slope - difference| / max(|difference|, floor, what rounding hides)
  /// Whether a stride was found within which the loss is smooth. Else there is a kink (of relu, of a maximum) within every stride, and
  /// the error says nothing.
  bool decided = false;

  bool agrees() const { return decided && error < slopeBound; }
};

/// Compares a slope at 0 with five-point central differences of shrinking strides. A large stride meets kinks, a small one rounding; where
/// the first one does not agree, a difference counts only where neither spoils it. A kink shows: where the loss is smooth, differences of
/// twice the stride are the same up to fourth order, and the slopes on both sides of 0 differ by twice as much. What does not pass this
/// test is no evidence, neither for the slope nor against it, however near it is. Nor is there any at a point that is itself a kink.
engine::Result<SlopeCheck> checkSlope(const LossAlong &loss, double slope, double floor);

} // namespace npar::driver
