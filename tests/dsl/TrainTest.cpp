// Train blocks and their settings.
#include "Npar.h"
#include "dsl/elaborate/NamePattern.h"

#include <gtest/gtest.h>

#include <map>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

Train train(const Settings &settings) {
  Result r = elaborateFile(gpt2, settings);
  EXPECT_TRUE(r.program) << r.messages;
  return r.program ? r.program->train : Train{};
}

TEST(Train, HasTheValuesOfItsText) {
  Train t = train({});
  EXPECT_EQ(t.name, "base");
  EXPECT_EQ(t.batch, 32);
  EXPECT_EQ(t.optimizer().name, "AdamW");
  EXPECT_EQ(t.optimizer().rate.kind, ScheduleKind::Cosine);
  EXPECT_EQ(t.optimizer().rate.peak, 3e-4);
  EXPECT_EQ(t.optimizer().rate.warmup, Length{100});
  EXPECT_EQ(t.optimizer().rate.steps, Length{2000});
  EXPECT_EQ(t.optimizer().number("betas", 0), 0.9);
  EXPECT_EQ(t.optimizer().number("betas", 1), 0.95);
  EXPECT_EQ(t.optimizer().number("epsilon"), 1e-8);
  EXPECT_EQ(t.optimizer().number("decay"), 0.1);
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
  EXPECT_EQ(t.optimizer().rate.peak, 1e-3);
  EXPECT_EQ(t.optimizer().rate.warmup, Length{5});
  EXPECT_EQ(t.optimizer().rate.steps, Length{30});
  EXPECT_FALSE(t.clip);
  EXPECT_EQ(t.seed, 7u);
  EXPECT_EQ(t.optimizer().number("epsilon"), 1e-4);
}

TEST(Train, TakesASettingOfTheWholeLearningRate) {
  EXPECT_EQ(train({{"optimizer.lr", "0.25"}}).optimizer().rate.kind, ScheduleKind::Constant);
  EXPECT_EQ(train({{"optimizer.lr", "0.25"}}).optimizer().rate.peak, 0.25);
  Train t = train({{"optimizer.lr", "linear(peak = 1, steps = 10, final = 0.5)"}});
  EXPECT_EQ(t.optimizer().rate.kind, ScheduleKind::Linear);
  EXPECT_EQ(t.optimizer().rate.warmup, Length{0});
  EXPECT_EQ(t.optimizer().rate.final, 0.5);
}

TEST(Train, HasLengthsInEpochsAndShares) {
  Train t = train({{"optimizer.lr", "cosine(0.5, warmup = 0.1 epochs, steps = 3 * 2 epochs)"}, {"epochs", "2.5"}});
  EXPECT_EQ(t.optimizer().rate.warmup, (Length{0.1, LengthUnit::Epochs}));
  EXPECT_EQ(t.optimizer().rate.steps, (Length{6, LengthUnit::Epochs}));
  EXPECT_EQ(t.epochs, 2.5);
  t = train({{"optimizer.lr", "linear(0.5, warmup = 0.06 run)"}});
  EXPECT_EQ(t.optimizer().rate.warmup, (Length{0.06, LengthUnit::Run}));
  EXPECT_EQ(t.optimizer().rate.steps, (Length{1, LengthUnit::Run})); // its end is the run's
  EXPECT_FALSE(t.epochs);
  EXPECT_EQ(train({{"optimizer.lr", "step(1, factor = 0.7, every = 1 epoch)"}}).optimizer().rate.every, (Length{1, LengthUnit::Epochs}));
}

TEST(Train, ScalesTheLearningRateWithTheBatch) {
  Train t = train({{"optimizer.lr", "cosine(scaled(0.001, per = 32), steps = 9, final = scaled(0.0001, per = 32))"}, {"batch", "128"}});
  EXPECT_EQ(t.optimizer().rate.peak, 0.004);
  EXPECT_EQ(t.optimizer().rate.final, 0.0004);
  ASSERT_TRUE(t.optimizer().rate.scaled);
  EXPECT_EQ(t.optimizer().rate.scaled->rate, 0.001);
  EXPECT_EQ(t.optimizer().rate.scaled->per, 32);
  EXPECT_EQ(train({{"optimizer.lr", "scaled(0.5, 64)"}}).optimizer().rate.peak, 0.25);
}

/// The rules in the train block of a small GPT-2, and what they make of each parameter.
std::map<std::string, ParameterTraining> trained(const std::string &rules, std::vector<std::string> *groups = nullptr) {
  Result r =
      elaborateText("import \"gpt2\"\ntrain mine(tenth = 0.1, on = true) for Gpt2 { batch 8 optimizer Sgd(lr = 0.1) " + rules + " }\n",
                    {{"width", "8"}, {"heads", "2"}, {"depth", "2"}, {"length", "4"}, {"vocab", "9"}}, "none");
  EXPECT_TRUE(r.program) << r.messages;
  std::map<std::string, ParameterTraining> result;
  for (size_t i = 0; r.program && i < r.program->model.parameters.size(); ++i)
    result[r.program->model.parameters[i].path] = r.program->train.parameters[i];
  if (groups && r.program)
    *groups = r.program->train.groups;
  return result;
}

TEST(ParameterRules, WithoutRulesAllAreOneGroup) {
  std::vector<std::string> groups;
  for (const auto &[path, each] : trained("", &groups)) {
    EXPECT_FALSE(each.frozen || each.decay) << path;
    EXPECT_EQ(each.rate, 1) << path;
  }
  EXPECT_EQ(groups, std::vector<std::string>{"other"});
}

// Each value from the last rule that gives it; the group is that of the last rule.
TEST(ParameterRules, LaterOnesHold) {
  std::vector<std::string> groups;
  auto found = trained(
      "for \"*.bias\", \"*ln_*\" { decay 0 lr * 3 } for \"h.1.*\" as \"last\" { lr * tenth } for \"h.1.ln_2.*\" { decay 2 }", &groups);
  EXPECT_EQ(found["h.1.attn.c_attn.bias"].decay, 0);
  EXPECT_EQ(found["h.1.attn.c_attn.bias"].rate, 0.1);
  EXPECT_EQ(found["h.0.ln_1.weight"].rate, 3);
  EXPECT_EQ(found["h.1.ln_2.bias"].decay, 2);
  EXPECT_EQ(found["h.1.ln_2.bias"].rate, 0.1);
  EXPECT_FALSE(found["wte.weight"].decay);
  EXPECT_EQ(groups, (std::vector<std::string>{"other", "*.bias *ln_*", "last", "h.1.ln_2.*"}));
  EXPECT_EQ(found["wte.weight"].group, 0);
  EXPECT_EQ(found["ln_f.bias"].group, 1);
  EXPECT_EQ(found["h.1.attn.c_attn.bias"].group, 2);
  EXPECT_EQ(found["h.1.ln_2.bias"].group, 3);
}

// A frozen parameter stays frozen regardless of later rules; groups without trained parameters are dropped.
TEST(ParameterRules, FreezeHoldsWhateverFollows) {
  std::vector<std::string> groups;
  auto found = trained("freeze \"*\" except \"h.1.*\", \"ln_f.*\" if on for \"wte.*\" { lr * 2 } for \"*.bias\" { }", &groups);
  for (const auto &[path, each] : found)
    EXPECT_EQ(each.frozen, path.rfind("h.1.", 0) != 0 && path.rfind("ln_f.", 0) != 0) << path;
  EXPECT_EQ(groups, (std::vector<std::string>{"other", "*.bias"}));
}

TEST(ParameterRules, AConditionLeavesARuleOut) {
  auto found = trained("freeze \"nothing at all\" if not on for \"*\" if tenth > 1 { decay 0 }");
  EXPECT_FALSE(found["wte.weight"].frozen || found["wte.weight"].decay);
}

TEST(ParameterRules, PatternsWithSeveralStars) {
  EXPECT_TRUE(matchesName("*norm*", "h.0.norm_1.weight"));
  EXPECT_TRUE(matchesName("h.*.attn.*.bias", "h.10.attn.c_proj.bias"));
  EXPECT_TRUE(matchesName("a*b*b", "abb"));
  EXPECT_TRUE(matchesName("**", ""));
  EXPECT_FALSE(matchesName("a*b*b", "ab")); // the two b are not one
  EXPECT_FALSE(matchesName("a*ab*b", "aab"));
  EXPECT_FALSE(matchesName("*norm*bias", "bias.norm"));
  EXPECT_FALSE(matchesName("h.*.attn.*", "h.attn.w"));
}

TEST(Train, TheLastOfEqualSettingsHolds) { EXPECT_EQ(train({{"batch", "64"}, {"batch", "16"}}).batch, 16); }

} // namespace
