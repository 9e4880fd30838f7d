// One number of an evaluation, added up value by value: exact sums where values are whole, float64 in the order of the data otherwise, so
// that neither ranks nor batches have a part in it.
#pragma once

#include "engine/program/Enums_generated.h"

#include <cstdint>
#include <optional>

namespace npar::training {

class MeasureSum {
public:
  explicit MeasureSum(program::MeasureKind kind) : kind(kind) {}

  /// What counts at one position; `y` is the second value of F1 (actual) and Correlation.
  void add(double x, double y = 0);
  /// How many positions there were.
  int64_t counted() const { return count; }
  /// Nothing where it is not defined: nothing counted, neither predicted nor actual truth for F1, values that are all equal for
  /// Correlation.
  std::optional<double> value() const;
  /// Why it is not, for people.
  const char *whyUndefined() const;

private:
  program::MeasureKind kind;
  int64_t count = 0, hits = 0, halfHits = 0; ///< F1: both hold; one of them does
  double sum = 0;
  /// Correlation: means, and sums of squared and mixed deviations so far (Welford 1962).
  double meanX = 0, meanY = 0, squareX = 0, squareY = 0, mixed = 0;
};

} // namespace npar::training
