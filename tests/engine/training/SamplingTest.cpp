// The next token is the best one, or is drawn with the probabilities that follow from temperature, top-k and top-p.
#include "engine/training/Sampling.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace npar::training {
namespace {

/// The fraction of positions 0 to `draws` - 1 at which each class is drawn.
std::vector<double> shares(const std::vector<double> &scores, const Sampling &sampling, int draws = 20000) {
  std::vector<double> found(scores.size());
  for (int position = 0; position < draws; ++position)
    found[static_cast<size_t>(*nextToken(scores, sampling, static_cast<uint64_t>(position)))] += 1.0 / draws;
  return found;
}

std::vector<double> logarithms(std::vector<double> probabilities) {
  for (double &each : probabilities)
    each = std::log(each);
  return probabilities;
}

void expectNear(const std::vector<double> &found, const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], expected[i] == 0 ? 0 : 0.015) << "class " << i;
}

TEST(Sampling, greedyTakesTheBestAndOfEqualsTheFirst) {
  EXPECT_EQ(nextToken({1, 3, 2, 3}, {}, 0), 1);
  EXPECT_EQ(nextToken({-5}, {}, 9), 0);
}

TEST(Sampling, drawsByProbabilities) {
  expectNear(shares(logarithms({0.5, 0.1, 0.4}), {1.0}), {0.5, 0.1, 0.4});
  // Temperature 1/2 squares them: 25, 1, 16 of 42.
  expectNear(shares(logarithms({0.5, 0.1, 0.4}), {0.5}), {25.0 / 42, 1.0 / 42, 16.0 / 42});
}

TEST(Sampling, narrowsToTheBest) {
  std::vector<double> scores = logarithms({0.1, 0.4, 0.2, 0.3});
  expectNear(shares(scores, {1.0, 2}), {0, 4.0 / 7, 0, 3.0 / 7});
  expectNear(shares(scores, {1.0, 0, 0.65}), {0, 4.0 / 7, 0, 3.0 / 7});
  expectNear(shares(scores, {1.0, 0, 0.75}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  expectNear(shares(scores, {1.0, 3, 0.5}), {0, 4.0 / 7, 0, 3.0 / 7}); // of the three best, 4/9 and 3/9 reach a half
  expectNear(shares(scores, {1.0, 9, 1.0}), {0.1, 0.4, 0.2, 0.3});
  expectNear(shares(scores, {1.0, 0, 0.0}), {0, 1, 0, 0});
}

TEST(Sampling, isAFunctionOfSeedAndPosition) {
  std::vector<double> scores(1000, 0.0);
  Sampling one{1.0, 0, 1, 7}, other{1.0, 0, 1, 8};
  int equal = 0;
  for (uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(nextToken(scores, one, position), nextToken(scores, one, position));
    equal += nextToken(scores, one, position) == nextToken(scores, other, position);
    equal += nextToken(scores, one, position) == nextToken(scores, one, position + 1);
  }
  EXPECT_LT(equal, 5);
}

TEST(Sampling, saysNothingWhereScoresSayNothing) {
  double infinity = std::numeric_limits<double>::infinity(), none = std::nan("");
  for (double temperature : {0.0, 1.0}) {
    EXPECT_EQ(nextToken({1, none}, {temperature}, 0), std::nullopt);
    EXPECT_EQ(nextToken({1, infinity}, {temperature}, 0), std::nullopt);
    EXPECT_EQ(nextToken({-infinity, -infinity}, {temperature}, 0), std::nullopt);
    EXPECT_EQ(nextToken({-infinity, 1}, {temperature}, 0), 1);
  }
}

} // namespace
} // namespace npar::training
