// Accumulates one measure of an evaluation value by value: exact for whole numbers, else in float64 in data order, so that the result
// depends on neither ranks nor batches.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <optional>

namespace npar::training {

class MeasureSum {
public:
  explicit MeasureSum(program::MeasureKind kind) : kind(kind) {}

  /// Adds the value at one counting position. `y` is the second operand of F1 (the actual class) and Correlation.
  void add(double x, double y = 0);
  /// Number of positions added.
  int64_t counted() const { return count; }
  /// Nothing if the measure is undefined: no position counts, F1 without predicted or actual positives, or Correlation of a side whose
  /// values are all equal.
  std::optional<double> value() const;
  /// Reason for the user why `value` is undefined.
  const char *whyUndefined() const;

private:
  program::MeasureKind kind;
  int64_t count = 0, hits = 0, halfHits = 0; ///< F1: positions where both are true; where exactly one is
  double sum = 0;
  /// Correlation: running means, and sums of squared and mixed deviations (Welford 1962).
  double meanX = 0, meanY = 0, squareX = 0, squareY = 0, mixed = 0;
};

} // namespace npar::training
