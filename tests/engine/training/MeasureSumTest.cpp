// Compares measures with their definitions. An undefined measure gives a reason.
#include "engine/training/MeasureSum.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace npar::training {
namespace {

using program::MeasureKind;

MeasureSum sumOf(MeasureKind kind, const std::vector<std::pair<double, double>> &values) {
  MeasureSum sum(kind);
  for (auto [x, y] : values)
    sum.add(x, y);
  return sum;
}

TEST(MeasureSum, meansAndTheirExponential) {
  std::vector<std::pair<double, double>> values = {{1, 0}, {2, 0}, {6, 0}};
  EXPECT_EQ(sumOf(MeasureKind::Mean, values).value(), 3);
  EXPECT_EQ(sumOf(MeasureKind::Loss, values).value(), 3);
  EXPECT_EQ(sumOf(MeasureKind::Perplexity, values).value(), std::exp(3.0));
  EXPECT_EQ(sumOf(MeasureKind::Mean, values).counted(), 3);
}

TEST(MeasureSum, f1IsOfHitsAndHalfHits) {
  EXPECT_EQ(sumOf(MeasureKind::F1, {{1, 1}, {1, 0}, {0, 1}, {0, 0}, {1, 1}, {1, 0}}).value(), 4.0 / 7);
  EXPECT_EQ(sumOf(MeasureKind::F1, {{1, 0}, {0, 1}}).value(), 0);
}

TEST(MeasureSum, correlation) {
  // Deviations -1.5 -0.5 0.5 1.5 and -2.5 -1.5 0.5 3.5: 10 / sqrt(5 * 21).
  EXPECT_NEAR(*sumOf(MeasureKind::Correlation, {{1, 2}, {2, 3}, {3, 5}, {4, 8}}).value(), 10 / std::sqrt(5.0 * 21), 1e-15);
  EXPECT_NEAR(*sumOf(MeasureKind::Correlation, {{1e9 + 1, 3}, {1e9 + 2, 2}, {1e9 + 3, 1}}).value(), -1, 1e-12);
}

TEST(MeasureSum, whatHasNoValueSaysWhy) {
  for (MeasureKind kind : program::EnumValuesMeasureKind()) {
    EXPECT_FALSE(MeasureSum(kind).value());
    EXPECT_EQ(MeasureSum(kind).whyUndefined(), std::string("no position counts in it"));
  }
  MeasureSum absent = sumOf(MeasureKind::F1, {{0, 0}}), constant = sumOf(MeasureKind::Correlation, {{1, 2}, {1, 3}});
  EXPECT_FALSE(absent.value());
  EXPECT_EQ(absent.whyUndefined(), std::string("it is neither predicted nor the case anywhere"));
  EXPECT_FALSE(constant.value());
  EXPECT_EQ(constant.whyUndefined(), std::string("all values of one side are equal"));
}

} // namespace
} // namespace npar::training
