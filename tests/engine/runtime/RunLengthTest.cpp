// Lengths of learning rates as steps of a run, and in words.
#include "engine/program/RateWords.h"
#include "engine/runtime/RunLength.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::engine;
using program::LengthUnit;
using program::RateLength;
using program::RateSchedule;

namespace {

struct RunLengthTest : ::testing::Test {
  program::LearningRateT &add(RateSchedule schedule, RateLength warmup, RateLength steps, RateLength every = {1, LengthUnit::Steps}) {
    auto &rate = *made.rates.emplace_back(std::make_unique<program::LearningRateT>());
    rate.schedule = schedule, rate.peak = 0.004, rate.factor = 0.5;
    rate.warmup = std::make_unique<RateLength>(warmup), rate.steps = std::make_unique<RateLength>(steps);
    rate.every = std::make_unique<RateLength>(every);
    bool isKnown = true;
    for (const RateLength &length : {warmup, steps, every})
      isKnown &= length.unit() == LengthUnit::Steps;
    if (!isKnown)
      rate.word = std::exchange(words, words + program::rateWords);
    return rate;
  }
  const program::Program &root() {
    builder.Clear();
    made.batch = 128;
    program::FinishProgramBuffer(builder, program::Program::Pack(builder, &made));
    return *program::GetProgram(builder.GetBufferPointer());
  }
  static RateLength steps(double count) { return {count, LengthUnit::Steps}; }
  static RateLength epochs(double count) { return {count, LengthUnit::Epochs}; }
  static RateLength run(double count) { return {count, LengthUnit::Run}; }

  program::ProgramT made;
  flatbuffers::FlatBufferBuilder builder;
  int words = 0;
};

TEST_F(RunLengthTest, NeedsNothingForSteps) {
  add(RateSchedule::Cosine, steps(3), steps(9));
  EXPECT_FALSE(needsRunLength(root()));
  EXPECT_TRUE(runWords(root(), {})->empty());
  EXPECT_TRUE(rateTexts(root(), {}).empty());
}

TEST_F(RunLengthTest, RoundsUpExceptForPeriods) {
  add(RateSchedule::Cosine, epochs(0.1), run(1));
  add(RateSchedule::Step, steps(2), steps(0), epochs(2));
  EXPECT_TRUE(needsRunLength(root()));
  EXPECT_EQ(program::contextWordsOf(root()), 3 + 8u);
  EXPECT_EQ(*runWords(root(), {12.25, 37}), (std::vector<double>{0, 2, 37, 1, 0, 2, 0, 24.5}));
}

TEST_F(RunLengthTest, CountsStepsOfTheNewBatch) {
  add(RateSchedule::Linear, run(0.1), epochs(2));
  add(RateSchedule::Linear, run(0.1), run(1));
  // Shares of the run alone follow the number of the step.
  EXPECT_EQ(*runWords(root(), {6, 21, -9}), (std::vector<double>{-9, 2, 12, 1, 0, 3, 21, 1}));
}

TEST_F(RunLengthTest, SaysWhatIsUnknown) {
  add(RateSchedule::Linear, steps(0), run(1));
  EXPECT_NE(runWords(root(), {6, {}}).status().message().find("the number of its steps is not known"), std::string::npos);
  made.rates.clear(), words = 0;
  add(RateSchedule::Constant, epochs(1), steps(0));
  EXPECT_NE(runWords(root(), {{}, 7}).status().message().find("has lengths in epochs, but there are no epochs"), std::string::npos);
}

TEST_F(RunLengthTest, RefusesAnEndWithinTheWarmUp) {
  add(RateSchedule::Linear, epochs(2), run(1));
  EXPECT_TRUE(checkRates(root(), {6, 13}).ok());
  EXPECT_EQ(checkRates(root(), {6, 12}).message(),
            "the schedule of the learning rate ends after 12 steps (the run), within its warm-up of 12 steps (2 epochs)\n"
            "npar: help: make the warm-up shorter, or the run longer");
}

TEST_F(RunLengthTest, PutsRatesIntoWords) {
  program::LearningRateT &rate = add(RateSchedule::Cosine, epochs(0.5), run(1));
  rate.scaled = 0.001, rate.per = 32;
  add(RateSchedule::Step, steps(0), steps(0), epochs(1));
  add(RateSchedule::Step, steps(0), steps(0), epochs(1)); // a rule with the same rate
  EXPECT_EQ(rateTexts(root(), {6, 24}),
            (std::vector<std::string>{
                "cosine learning rate, from 0.004 (0.001 x batch 128 / 32) to 0 within 24 steps (the run), warm-up 3 steps (0.5 epochs)",
                "step learning rate, at first 0.004, times 0.5 every 6 steps (1 epoch)"}));
}

TEST_F(RunLengthTest, IsVerified) {
  add(RateSchedule::Linear, epochs(1), run(1));
  EXPECT_EQ(program::wrongRate(root()), "");
  made.rates[0]->word = 4;
  EXPECT_EQ(program::wrongRate(root()), "learning rate 0 has the words of the run from 4 on");
  made.rates[0]->word = 0, made.rates[0]->warmup = std::make_unique<RateLength>(epochs(-1));
  EXPECT_NE(program::wrongRate(root()), "");
  made.rates.clear(), made.epochs = -1;
  EXPECT_NE(program::wrongRate(root()), "");
}

} // namespace
