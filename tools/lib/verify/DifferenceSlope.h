// The slope of a loss by finite differences, which a gradient is compared with. Kinks near the point are recognized and not counted.
#pragma once

#include "engine/status/Status.h"

#include <cmath>
#include <functional>

namespace npar::verify {

/// A loss along a line, at a distance from the point where the slope is wanted.
using LossAlong = std::function<engine::Result<double>(double distance)>;

/// The largest relative error of a slope that counts as right.
constexpr double slopeBound = 1e-5;

struct SlopeCheck {
  double difference = NAN; ///< the nearest slope by differences
  double error = INFINITY; ///< |slope - difference| / max(|difference|, floor, rounding noise)
  /// True if the loss is smooth within some stride. Otherwise every stride contains a kink (of relu, of a maximum), and the error proves
  /// nothing.
  bool decided = false;

  bool agrees() const { return decided && error < slopeBound; }
};

/// Compares a slope at 0 with five-point central differences of shrinking strides. A large stride meets kinks, a small one rounding. If
/// the first stride does not agree, a difference counts only if neither spoils it. Kinks are recognized as follows: where the loss is
/// smooth, differences of twice the stride are equal up to fourth order, and the slopes on both sides of 0 differ by twice as much. A
/// difference that fails this test is no evidence, neither for the slope nor against it, however near it is. There is also no evidence at a
/// point that is itself a kink.
engine::Result<SlopeCheck> checkSlope(const LossAlong &loss, double slope, double floor);

} // namespace npar::verify
