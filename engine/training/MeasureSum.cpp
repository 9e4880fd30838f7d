// Updates the sums of a measure and computes its value from them.
#include "engine/training/MeasureSum.h"

#include <cmath>

namespace npar::training {

using program::MeasureKind;

void MeasureSum::add(double x, double y) {
  ++count;
  switch (kind) {
  case MeasureKind::Loss:
  case MeasureKind::Mean:
  case MeasureKind::Perplexity:
    sum += x;
    return;
  case MeasureKind::F1:
    hits += x != 0 && y != 0;
    halfHits += (x != 0) != (y != 0);
    return;
  case MeasureKind::Correlation: {
    double offX = x - meanX, offY = y - meanY, share = 1 / static_cast<double>(count);
    meanX += offX * share;
    meanY += offY * share;
    squareX += offX * (x - meanX);
    squareY += offY * (y - meanY);
    mixed += offX * (y - meanY);
  }
  }
}

std::optional<double> MeasureSum::value() const {
  if (count == 0)
    return std::nullopt;
  double mean = sum / static_cast<double>(count);
  switch (kind) {
  case MeasureKind::Loss:
  case MeasureKind::Mean:
    return mean;
  case MeasureKind::Perplexity:
    return std::exp(mean);
  case MeasureKind::F1:
    if (hits + halfHits == 0)
      return std::nullopt;
    return 2 * static_cast<double>(hits) / static_cast<double>(2 * hits + halfHits);
  case MeasureKind::Correlation:
    break;
  }
  double deviations = std::sqrt(squareX) * std::sqrt(squareY);
  return deviations == 0 ? std::nullopt : std::optional(mixed / deviations);
}

const char *MeasureSum::whyUndefined() const {
  if (count == 0)
    return "no position counts in it";
  return kind == MeasureKind::F1 ? "it is neither predicted nor the case anywhere" : "all values of one side are equal";
}

} // namespace npar::training
