// Suggests the nearest word if it is near enough, else nothing.
#include "tools/npar/terminal/Suggest.h"

#include <gtest/gtest.h>

using npar::driver::nearestWord;

TEST(Suggest, FindsNearWords) {
  EXPECT_EQ(nearestWord("--stesp", {"--seed", "--steps", "--set"}), "--steps");
  EXPECT_EQ(nearestWord("gtp2", {"mlp", "gpt2"}), "gpt2");
  EXPECT_EQ(nearestWord("inspct", {"compile", "inspect"}), "inspect");
}

TEST(Suggest, SaysNothingOfFarWords) {
  EXPECT_EQ(nearestWord("banana", {"compile", "run"}), "");
  EXPECT_EQ(nearestWord("", {"run"}), "");
  EXPECT_EQ(nearestWord(std::string(100000, 'x'), {"run"}), "");
}
