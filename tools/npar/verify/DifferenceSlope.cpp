// Tries strides from large to small until one agrees and none of the loss's kinks lies within it.
#include "tools/npar/verify/DifferenceSlope.h"

#include <algorithm>
#include <limits>
#include <map>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

constexpr double strides[] = {3e-4, 1e-5, 1e-6, 1e-7, 1e-8};

class Comparison {
public:
  Comparison(const LossAlong &loss, double slope, double floor) : loss(loss), slope(slope), floor(floor) {}

  Result<SlopeCheck> run() {
    for (double stride : strides) {
      if (Status status = tryStride(stride); !status.ok())
        return status;
      if (best.decided && best.error < slopeBound / 10)
        break;
    }
    return best;
  }

private:
  Status evaluate(std::initializer_list<int> places, double stride) {
    for (int place : places) {
      Result<double> value = loss(place * stride);
      if (!value.ok())
        return value.status();
      values[place] = *value;
    }
    return {};
  }

  Status tryStride(double stride) {
    if (Status status = evaluate({-2, -1, 1, 2}, stride); !status.ok())
      return status;
    double difference = central(1, stride), against = std::max({std::fabs(difference), floor, roundingFloor()});
    double error = std::fabs(slope - difference) / (against > 0 ? against : 1);
    // Where rounding is least, kinks would have to move the difference by just what the slope is wrong: that saves most evaluations.
    if (stride == strides[0] && error < slopeBound / 10) {
      best = {difference, error, true};
      return {};
    }
    if (!values.count(0))
      if (Status status = evaluate({0}, stride); !status.ok())
        return status;
    if (Status status = evaluate({-4, 4}, stride); !status.ok())
      return status;
    double unsure = std::fabs(central(2, stride) - difference) + std::fabs(bend(2, stride) - 2 * bend(1, stride));
    double rounding = std::numeric_limits<double>::epsilon() * std::fabs(values[0]) / stride;
    // Written so that what is not a number decides nothing and is the largest error.
    bool smooth = unsure + rounding <= slopeBound / 2 * against;
    if ((smooth && !best.decided) || (smooth == best.decided && error < best.error))
      best = {difference, error <= INFINITY ? error : INFINITY, smooth};
    return {};
  }

  /// Slopes below are lost in the loss's own rounding at the largest stride: it could not tell one that is right from zero.
  double roundingFloor() const { return 16 * std::numeric_limits<double>::epsilon() * std::fabs(values.at(1)) / strides[0] / slopeBound; }

  /// Five points at places 1 and 2 times `step`: the error is of fourth order in the stride.
  double central(int step, double stride) const {
    return (values.at(-2 * step) - 8 * values.at(-step) + 8 * values.at(step) - values.at(2 * step)) / (12 * step * stride);
  }

  /// How much larger the slope is before 0 than after it: that of a smooth loss doubles with the step, that of a kink at 0 stays.
  double bend(int step, double stride) const { return (values.at(step) - 2 * values.at(0) + values.at(-step)) / (step * stride); }

  const LossAlong &loss;
  double slope, floor;
  std::map<int, double> values; ///< of the loss, by place in strides
  SlopeCheck best;
};

} // namespace

Result<SlopeCheck> checkSlope(const LossAlong &loss, double slope, double floor) { return Comparison(loss, slope, floor).run(); }

} // namespace npar::driver
