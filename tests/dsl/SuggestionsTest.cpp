// Suggestions for a misspelt word: the near words are found, the far ones are not.
#include "dsl/Suggestions.h"

#include <gtest/gtest.h>

namespace npar::dsl {

TEST(Suggestions, NearWordsAreFound) {
  EXPECT_EQ(nearest("--stesp", {"--seed", "--steps", "--set"}), "--steps");
  EXPECT_EQ(nearest("gtp2", {"mlp", "gpt2"}), "gpt2");
  EXPECT_EQ(nearest("inspct", {"compile", "inspect"}), "inspect");
}

TEST(Suggestions, TheCaseOfLettersIsNoDifference) {
  EXPECT_EQ(nearest("GELU", {"relu", "gelu"}), "gelu");
  EXPECT_EQ(nearest("ADAW", {"Sgd", "AdamW"}), "AdamW");
}

TEST(Suggestions, FarWordsAreNot) {
  EXPECT_EQ(nearest("banana", {"compile", "run"}), "");
  EXPECT_EQ(nearest("x", {"y"}), "");
  EXPECT_EQ(nearest("", {"run"}), "");
  EXPECT_EQ(nearest(std::string(100000, 'x'), {"run"}), "");
}

TEST(Suggestions, AWordIsNoSuggestionForItself) { EXPECT_EQ(nearest("width", {"width", "depth"}), ""); }

} // namespace npar::dsl
