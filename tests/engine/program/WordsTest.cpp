// The words of the seam's enumerations: each value has one of its own, and is read back from it.
#include "engine/program/Words.h"

#include <gtest/gtest.h>

#include <set>

using namespace npar::program;

namespace {

template <typename Values> void checkWords(const Values &values) {
  using Enum = std::decay_t<decltype(values[0])>;
  std::set<std::string> words;
  std::string all;
  for (Enum value : values) {
    std::string word = wordOf(value);
    EXPECT_FALSE(word.empty());
    EXPECT_TRUE(words.insert(word).second) << word << " stands for two values";
    EXPECT_EQ(valueOf<Enum>(word), value) << word;
    all += (all.empty() ? "" : ", ") + word;
  }
  EXPECT_EQ(wordsOf<Enum>(), all);
  for (const char *none : {"", "unheard_of", "F32", "AllReduce"})
    EXPECT_EQ(valueOf<Enum>(none), std::nullopt) << none;
}

TEST(Words, StandForOneValueEach) {
  checkWords(EnumValuesElementType());
  checkWords(EnumValuesPhase());
  checkWords(EnumValuesStepKind());
  checkWords(EnumValuesCollectiveKind());
  checkWords(EnumValuesReduceOp());
  checkWords(EnumValuesVariableKind());
  checkWords(EnumValuesInitKind());
  checkWords(EnumValuesInputRole());
  checkWords(EnumValuesProgramKind());
  checkWords(EnumValuesDataFormat());
  checkWords(EnumValuesDataOrder());
  checkWords(EnumValuesDataLast());
  checkWords(EnumValuesCheckpointRuleKind());
  checkWords(EnumValuesCauseKind());
  checkWords(EnumValuesRateSchedule());
  checkWords(EnumValuesLengthUnit());
}

TEST(Words, OfPhasesAreLetters) {
  std::set<std::string> descriptions;
  for (Phase phase : EnumValuesPhase()) {
    EXPECT_EQ(std::string(wordOf(phase)).size(), 1u);
    EXPECT_TRUE(descriptions.insert(describe(phase)).second) << describe(phase);
  }
}

} // namespace
