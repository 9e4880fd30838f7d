// Fits of costs to measurements: exact for exact equations, never negative, and usable with few observations.
#include "tools/lib/planner/machine/FitFigures.h"

#include <cmath>
#include <gtest/gtest.h>

namespace npar::planner {

TEST(Fit, FindsWhatTheEquationsWereMadeOf) {
  const std::vector<double> truth = {2e-11, 0, 3e-10, 5e-6};
  std::vector<Equation> equations;
  for (double i = 1; i <= 20; ++i) {
    Equation equation{{1e6 * i, 1e5 * std::sqrt(i), 1e4 * (21 - i) * i, i < 10 ? 1.0 : 3.0}, 0};
    equation.seconds = predicted(equation, truth);
    equations.push_back(equation);
  }
  std::vector<double> found = fitNotNegative(equations, 4);
  for (size_t i = 0; i < truth.size(); ++i)
    EXPECT_NEAR(found[i], truth[i], 1e-6 * truth[i] + 1e-18) << i;
}

TEST(Fit, NothingIsNegative) {
  // The line through these points has a negative intercept, so the best non-negative fit has none.
  std::vector<Equation> equations = {{{1, 1}, 1}, {{2, 1}, 3}, {{3, 1}, 5}};
  std::vector<double> found = fitNotNegative(equations, 2);
  EXPECT_GT(found[0], 1);
  EXPECT_EQ(found[1], 0);
}

TEST(Fit, WithoutObservationsNothingIsSaid) {
  EXPECT_EQ(fitNotNegative({}, 3), std::vector<double>(3, 0));
  EXPECT_EQ(fitNotNegative({{{1, 1}, 0}}, 2), std::vector<double>(2, 0)); // a clock that did not advance
}

TEST(Fit, WhatNoEquationCountsIsNothing) {
  std::vector<double> found = fitNotNegative({{{2, 0}, 4}, {{3, 0}, 6}}, 2);
  EXPECT_DOUBLE_EQ(found[0], 2);
  EXPECT_EQ(found[1], 0);
}

TEST(Fit, EquationsThatSayTheSameLeaveOneUnknown) {
  std::vector<double> found = fitNotNegative({{{1, 2}, 4}, {{2, 4}, 8}}, 2);
  EXPECT_NEAR(found[0] + 2 * found[1], 4, 1e-9);
}

TEST(Fit, SumsAreRightWhateverSingleErrors) {
  std::vector<Equation> equations = {{{1, 0}, 1}, {{2, 1}, 5}, {{1, 3}, 2}};
  std::vector<double> scaled = scaledToSum(equations, {1, 0.5});
  EXPECT_DOUBLE_EQ(scaled[0], 2 * scaled[1]);
  EXPECT_DOUBLE_EQ(predicted(equations[0], scaled) + predicted(equations[1], scaled) + predicted(equations[2], scaled), 8);
  EXPECT_EQ(scaledToSum({}, {1, 2}), (std::vector<double>{1, 2}));
  EXPECT_EQ(scaledToSum(equations, {0, 0}), (std::vector<double>{0, 0}));
}

TEST(Fit, SpreadingIsFoundFromWholeSteps) {
  const Spreading truth{0.8, 5e-5};
  std::vector<SpreadObservation> observations;
  for (double seconds : {1e-5, 5e-5, 2e-4, 3e-3}) {
    SpreadObservation one{std::vector<double>(10, seconds), 0};
    one.whole = spreadSeconds(one, truth, 4);
    observations.push_back(one);
  }
  Spreading found = fitSpreading(observations, 4);
  EXPECT_NEAR(found.share, truth.share, 0.03);
  EXPECT_NEAR(found.grain / truth.grain, 1, 0.2);
}

TEST(Fit, OneCoreSpreadsNothing) {
  Spreading found = fitSpreading({{{1, 1}, 2}}, 1);
  EXPECT_EQ(found.share, 0);
  EXPECT_DOUBLE_EQ(spreadSeconds({{1, 1}, 2}, found, 1), 2);
}

TEST(Fit, WithoutStepsNothingSpreads) { EXPECT_EQ(fitSpreading({}, 2).share, 0); }

} // namespace npar::planner
