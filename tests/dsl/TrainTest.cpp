// Train blocks and their settings.
#include "Npar.h"

#include <gtest/gtest.h>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

const std::string gpt2 = stdlib + "/models/gpt2.npar";

Train train(const Settings &settings) {
  Result r = elaborateFile(gpt2, settings);
  EXPECT_TRUE(r.program) << r.messages;
  return r.program ? r.program->train : Train{};
}

TEST(Train, HasTheValuesOfItsText) {
  Train t = train({});
  EXPECT_EQ(t.name, "base");
  EXPECT_EQ(t.batch, 32);
  EXPECT_EQ(t.optimizer, OptimizerKind::AdamW);
  EXPECT_EQ(t.rate.kind, ScheduleKind::Cosine);
  EXPECT_EQ(t.rate.peak, 3e-4);
  EXPECT_EQ(t.rate.warmup, 100);
  EXPECT_EQ(t.rate.steps, 2000);
  EXPECT_EQ(t.beta1, 0.9);
  EXPECT_EQ(t.beta2, 0.95);
  EXPECT_EQ(t.epsilon, 1e-8);
  EXPECT_EQ(t.decay, 0.1);
  EXPECT_EQ(t.clip, 1.0);
  EXPECT_EQ(t.seed, 1u);
}

TEST(Train, IsChangedBySettings) {
  Train t = train({{"batch", "4 * 16"},
                   {"peak", "1e-3"},
                   {"warmup", "5"},
                   {"steps", "30"},
                   {"clip", "none"},
                   {"seed", "7"},
                   {"optimizer.epsilon", "1e-4"}});
  EXPECT_EQ(t.batch, 64);
  EXPECT_EQ(t.rate.peak, 1e-3);
  EXPECT_EQ(t.rate.warmup, 5);
  EXPECT_EQ(t.rate.steps, 30);
  EXPECT_FALSE(t.clip);
  EXPECT_EQ(t.seed, 7u);
  EXPECT_EQ(t.epsilon, 1e-4);
}

TEST(Train, TakesASettingOfTheWholeLearningRate) {
  EXPECT_EQ(train({{"optimizer.lr", "0.25"}}).rate.kind, ScheduleKind::Constant);
  EXPECT_EQ(train({{"optimizer.lr", "0.25"}}).rate.peak, 0.25);
  Train t = train({{"optimizer.lr", "linear(peak = 1, steps = 10, final = 0.5)"}});
  EXPECT_EQ(t.rate.kind, ScheduleKind::Linear);
  EXPECT_EQ(t.rate.warmup, 0);
  EXPECT_EQ(t.rate.final, 0.5);
}

TEST(Train, TheLastOfEqualSettingsHolds) { EXPECT_EQ(train({{"batch", "64"}, {"batch", "16"}}).batch, 16); }

} // namespace
