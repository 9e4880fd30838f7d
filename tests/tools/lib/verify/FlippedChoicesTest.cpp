// Choices are compared as sets, position by position, on values made by hand.
#include "tools/lib/verify/FlippedChoices.h"

#include <gtest/gtest.h>

using namespace npar;
using verify::addFlips;
using verify::ChoiceShape;
using verify::ChosenValues;
using verify::LayerChoices;

namespace {

LayerChoices compare(const ChoiceShape &shape, const ChosenValues &values) {
  LayerChoices layer{"moe", "expert", "moe.npar:1:1"};
  addFlips(shape, values, 4, layer);
  return layer;
}

TEST(FlippedChoices, OrderDoesNotMatter) {
  LayerChoices layer = compare({1, {1}, {}, 2, 3}, {{2, 0}, {0, 2}, {5, 1, 4}, {5, 1, 4}});
  EXPECT_EQ(layer.choices, 2);
  EXPECT_EQ(layer.flipped, 0);
  EXPECT_EQ(layer.largestScoreError, 0);
}

/// Two samples of two positions, two of four entries: in sample 1, position 0, entries 3 and 1 are chosen in place of 0 and 2.
TEST(FlippedChoices, PairsByScore) {
  std::vector<double> exact = {4, 3, 2, 1, 4, 3, 2, 1, 10, 7, 9, 8, 4, 3, 2, 1}, scores = exact;
  scores[9] = 9.5, scores[11] = 11;
  LayerChoices layer = compare({2, {2}, {}, 2, 4}, {{0, 1, 1, 0, 3, 1, 0, 1}, {0, 1, 0, 1, 0, 2, 0, 1}, scores, exact});
  EXPECT_EQ(layer.choices, 8);
  ASSERT_EQ(layer.flipped, 2);
  ASSERT_EQ(layer.examples.size(), 2u);
  const verify::FlippedChoice &first = layer.examples[0];
  EXPECT_EQ(first.batch, 4);
  EXPECT_EQ(first.sample, 1);
  EXPECT_EQ(first.position, std::vector<int64_t>{0});
  EXPECT_EQ(first.chosen, 3);
  EXPECT_EQ(first.inPlaceOf, 0);
  EXPECT_DOUBLE_EQ(first.margin, 0.2);
  EXPECT_EQ(layer.examples[1].chosen, 1);
  EXPECT_EQ(layer.examples[1].inPlaceOf, 2);
  EXPECT_DOUBLE_EQ(layer.largestMargin, 0.2);
  EXPECT_DOUBLE_EQ(layer.largestScoreError, 0.3);
}

/// Entries need not be the last axis: one sample, two of three entries, each at two positions.
TEST(FlippedChoices, PositionsBehindEntries) {
  LayerChoices layer = compare({1, {}, {2}, 1, 3}, {{0, 2}, {0, 1}, {3, 1, 2, 4, 1, 5}, {3, 1, 2, 5, 1, 4}});
  ASSERT_EQ(layer.flipped, 1);
  EXPECT_EQ(layer.examples[0].position, std::vector<int64_t>{1});
  EXPECT_EQ(layer.examples[0].chosen, 2);
  EXPECT_EQ(layer.examples[0].inPlaceOf, 1);
  EXPECT_DOUBLE_EQ(layer.examples[0].margin, 0.2);
}

/// A score of -1e30 stands for what cannot be chosen; its rounding is no error.
TEST(FlippedChoices, ScoresThatAreNotChosen) {
  LayerChoices layer = compare({1, {1}, {}, 1, 2}, {{0}, {0}, {1.5, -1.0000001e30}, {1, -1e30}});
  EXPECT_DOUBLE_EQ(layer.largestScoreError, 0.5);
}

/// Only the largest margins are kept as examples.
TEST(FlippedChoices, FewExamples) {
  std::vector<double> chosen(8, 1), own(8, 0), exact;
  for (int i = 0; i < 8; ++i)
    exact.insert(exact.end(), {1, 1 - 0.01 * i});
  LayerChoices layer = compare({8, {}, {}, 1, 2}, {chosen, own, exact, exact});
  EXPECT_EQ(layer.flipped, 8);
  ASSERT_EQ(layer.examples.size(), 3u);
  EXPECT_EQ(layer.examples[0].sample, 7);
  EXPECT_EQ(layer.examples[2].sample, 5);
}

} // namespace
