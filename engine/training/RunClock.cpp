// Converts between steps and epochs by the positions of the data.
#include "engine/training/RunClock.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using engine::Result;
using engine::Status;

namespace {
constexpr double rounding = 1e-9; ///< of epochs
} // namespace

Interval Interval::epochs(double count) {
  Interval result;
  result.count = count, result.inEpochs = true;
  return result;
}

Result<Interval> Interval::read(const std::string &flag, const std::string &text) {
  double count = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  constexpr double most = 1e12;
  const bool isNumber = error == std::errc() && count > 0 && count <= most, isWhole = std::floor(count) == count;
  if (isNumber && (unit == "epoch" || unit == "epochs"))
    return epochs(count);
  if (isNumber && unit.empty() && isWhole)
    return Interval(static_cast<int64_t>(count));
  return Status::usage(fmt::format("{}: '{}' is no number of steps or epochs: write 20, \"1 epoch\" or \"0.5 epochs\"", flag, text));
}

Status RunClock::start(const engine::DataSource &source, int64_t batch, int64_t firstStep) {
  data = &source, rows = batch, first = firstStep, perEpoch = source.samples() > 0 ? source.stepsPerEpoch() : 0;
  if (!asked)
    return {};
  if (!hasEpochs())
    return Status::badInput("the run is to last for a number of epochs, but these data have no end: give a number of steps");
  lastStep = stepsFor(*asked);
  return {};
}

double RunClock::epochsAfter(int64_t steps) const {
  if (!hasEpochs())
    return 0;
  // How the steps of earlier runs were spread is not known if their batch was another.
  if (steps < first)
    return epochsAfter(first) * static_cast<double>(steps) / static_cast<double>(first);
  const int64_t position = data->position(steps), samples = data->samples();
  return static_cast<double>(position / samples) + static_cast<double>(position % samples) / (static_cast<double>(rows) * perEpoch);
}

int64_t RunClock::stepsFor(double epochs) const {
  const double reached = epochsAfter(first);
  if (epochs <= reached + rounding)
    return first;
  int64_t low = first, high = first + static_cast<int64_t>((epochs - reached + 1) * perEpoch) + 2; // not done after low, done after high
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (epochsAfter(middle) >= epochs - rounding ? high : low) = middle;
  }
  return high;
}

int64_t RunClock::countOf(const Interval &interval, int64_t steps) const {
  const double done = interval.isInEpochs() ? epochsAfter(steps) : static_cast<double>(steps);
  return static_cast<int64_t>(std::floor(done / interval.times() + rounding));
}

engine::RunLength RunClock::length() const {
  engine::RunLength length;
  length.steps = static_cast<double>(lastStep);
  if (!hasEpochs())
    return length;
  length.stepsPerEpoch = perEpoch;
  if (first == 0)
    return length;
  // If epochs are whole steps, at the end of the epoch in progress: begun with another batch, it may have more or fewer steps than others.
  const double now = epochsAfter(first), end = std::floor(now + rounding) + 1;
  const bool isWhole = std::floor(perEpoch) == perEpoch;
  const double offset = isWhole ? end * perEpoch - static_cast<double>(stepsFor(end)) : now * perEpoch - static_cast<double>(first);
  length.offset = std::fabs(offset - std::round(offset)) < rounding ? std::round(offset) : offset;
  return length;
}

} // namespace npar::training
