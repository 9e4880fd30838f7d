// The nearest word is found if it is near; otherwise the result is empty.
#include "engine/readable/NearestWord.h"

#include <gtest/gtest.h>

using npar::readable::nearestWord;

TEST(NearestWord, FindsNearWords) {
  EXPECT_EQ(nearestWord("--stesp", {"--seed", "--steps", "--set"}), "--steps");
  EXPECT_EQ(nearestWord("gtp2", {"mlp", "gpt2"}), "gpt2");
  EXPECT_EQ(nearestWord("inspct", {"compile", "inspect"}), "inspect");
}

TEST(NearestWord, IsEmptyIfAllWordsAreFar) {
  EXPECT_EQ(nearestWord("banana", {"compile", "run"}), "");
  EXPECT_EQ(nearestWord("", {"run"}), "");
  EXPECT_EQ(nearestWord(std::string(100000, 'x'), {"run"}), "");
}
