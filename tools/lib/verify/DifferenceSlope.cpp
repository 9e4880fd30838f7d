// Tries strides from large to small until one agrees and contains no kink of the loss.
#include "tools/lib/verify/DifferenceSlope.h"

#include <algorithm>
#include <limits>
#include <map>

namespace npar::verify {

using engine::Result;
using engine::Status;

namespace {

constexpr double strides[] = {3e-4, 1e-5, 1e-6, 1e-7, 1e-8};

class Comparison {
public:
  Comparison(const LossAlong &loss, double slope, double floor) : loss(loss), slope(slope), floor(floor) {}

  Result<SlopeCheck> run() {
    for (double stride : strides) {
      TRY_STATUS(tryStride(stride));
      if (best.decided && best.error < slopeBound / 10)
        break;
    }
    return best;
  }

private:
  Status evaluate(std::initializer_list<int> places, double stride) {
    for (int place : places) {
      TRY(values[place], loss(place * stride));
    }
    return {};
  }

  Status tryStride(double stride) {
    TRY_STATUS(evaluate({-2, -1, 1, 2}, stride));
    double difference = central(1, stride), against = std::max({std::fabs(difference), floor, roundingFloor()});
    double error = std::fabs(slope - difference) / (against > 0 ? against : 1);
    // Rounding is smallest at the largest stride, and kinks would have to move the difference by exactly the slope's error to hide it.
    // Stopping here saves most evaluations.
    if (stride == strides[0] && error < slopeBound / 10) {
      best = {difference, error, true};
      return {};
    }
    if (!values.count(0)) {
      TRY_STATUS(evaluate({0}, stride));
    }
    TRY_STATUS(evaluate({-4, 4}, stride));
    double unsure = std::fabs(central(2, stride) - difference) + std::fabs(bend(2, stride) - 2 * bend(1, stride));
    double rounding = std::numeric_limits<double>::epsilon() * std::fabs(values[0]) / stride;
    // The comparisons are written so that a NaN decides nothing and counts as the largest error.
    bool smooth = unsure + rounding <= slopeBound / 2 * against;
    if ((smooth && !best.decided) || (smooth == best.decided && error < best.error))
      best = {difference, error <= INFINITY ? error : INFINITY, smooth};
    return {};
  }

  /// Smaller slopes vanish in the loss's own rounding at the largest stride, which cannot distinguish a right one from zero.
  double roundingFloor() const { return 16 * std::numeric_limits<double>::epsilon() * std::fabs(values.at(1)) / strides[0] / slopeBound; }

  /// The slope from the points at 1 and 2 times `step`, with an error of fourth order in the stride.
  double central(int step, double stride) const {
    return (values.at(-2 * step) - 8 * values.at(-step) + 8 * values.at(step) - values.at(2 * step)) / (12 * step * stride);
  }

  /// The slope after 0 minus the slope before it. For a smooth loss it doubles with the step; for a kink at 0 it stays the same.
  double bend(int step, double stride) const { return (values.at(step) - 2 * values.at(0) + values.at(-step)) / (step * stride); }

  const LossAlong &loss;
  double slope, floor;
  std::map<int, double> values; ///< of the loss, by place in strides
  SlopeCheck best;
};

} // namespace

Result<SlopeCheck> checkSlope(const LossAlong &loss, double slope, double floor) { return Comparison(loss, slope, floor).run(); }

} // namespace npar::verify
