// Merging by heap and list against merging by searching the whole word each time.
#include "engine/text/Merges.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace npar::testing {
namespace {

using namespace engine;

using Merges = std::map<std::pair<int32_t, int32_t>, MergeTable::Merge>;

/// The definition: the pair with the lowest rank, of equals the leftmost, until there is none.
std::vector<int32_t> mergeBySearching(const Merges &merges, std::vector<int32_t> tokens) {
  while (true) {
    MergeTable::Merge best;
    size_t place = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      auto found = merges.find({tokens[i], tokens[i + 1]});
      if (found != merges.end() && (best.rank < 0 || found->second.rank < best.rank))
        best = found->second, place = i;
    }
    if (best.rank < 0)
      return tokens;
    tokens[place] = best.token;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

MergeTable tableOf(const Merges &merges) {
  MergeTable table(merges.size());
  for (const auto &[pair, merge] : merges)
    EXPECT_TRUE(table.add(pair.first, pair.second, merge));
  return table;
}

TEST(MergesTest, aTableHasWhatWasAdded) {
  MergeTable table(3);
  EXPECT_TRUE(table.add(1, 2, {0, 10}));
  EXPECT_TRUE(table.add(2, 1, {1, 11}));
  EXPECT_TRUE(table.add(0, 0, {2, 12}));
  EXPECT_FALSE(table.add(1, 2, {3, 13}));
  EXPECT_EQ(table.find(1, 2).token, 10);
  EXPECT_EQ(table.find(2, 1).token, 11);
  EXPECT_EQ(table.find(0, 0).rank, 2);
  EXPECT_EQ(table.find(2, 2).rank, -1);
  EXPECT_EQ(MergeTable(0).find(0, 0).rank, -1);
}

TEST(MergesTest, wordsMergeAsByDefinition) {
  std::mt19937 chance(5);
  for (int trial = 0; trial < 300; ++trial) {
    // Tokens are texts, as in a vocabulary, so that one text has one token whatever pair made it. Ranks come in any order.
    std::vector<std::string> texts = {"a", "b", "c"};
    std::map<std::string, int32_t> ids = {{"a", 0}, {"b", 1}, {"c", 2}};
    Merges merges;
    std::vector<int32_t> ranks(40);
    for (size_t i = 0; i < ranks.size(); ++i)
      ranks[i] = static_cast<int32_t>(i);
    if (trial % 2)
      std::shuffle(ranks.begin(), ranks.end(), chance);
    for (int32_t rank : ranks) {
      int32_t left = static_cast<int32_t>(chance() % texts.size()), right = static_cast<int32_t>(chance() % texts.size());
      std::string whole = texts[static_cast<size_t>(left)] + texts[static_cast<size_t>(right)];
      if (whole.size() > 12)
        continue;
      auto [known, fresh] = ids.emplace(whole, static_cast<int32_t>(texts.size()));
      if (fresh)
        texts.push_back(whole);
      merges.emplace(std::pair(left, right), MergeTable::Merge{rank, known->second});
    }
    MergeTable table = tableOf(merges);
    WordMerger merger(table);
    for (int word = 0; word < 20; ++word) {
      std::vector<int32_t> tokens(chance() % 40);
      for (int32_t &token : tokens)
        token = static_cast<int32_t>(chance() % 3);
      std::vector<int32_t> expected = mergeBySearching(merges, tokens);
      merger.merge(tokens);
      ASSERT_EQ(tokens, expected);
    }
  }
}

TEST(MergesTest, aWordOfAMillionTokensIsDoneSoon) {
  MergeTable table(20);
  for (int32_t i = 0; i < 20; ++i)
    table.add(i, i, {i, i + 1});
  std::vector<int32_t> tokens(1 << 20, 0);
  WordMerger(table).merge(tokens);
  EXPECT_EQ(tokens, std::vector<int32_t>{20});
}

} // namespace
} // namespace npar::testing
