// Optimizers: what their texts become with arguments in place.
#include "Npar.h"

#include <gtest/gtest.h>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

using Texts = std::vector<std::string>;

/// The train block of a small model with this optimizer and these rules.
Train trainBy(const std::string &optimizer, const std::string &rules = "", const std::string &declarations = "",
              const Settings &settings = {}) {
  Result r = elaborateText(
      "import \"mlp\"\n" + declarations + "\ntrain mine for Mlp { batch 8 optimizer " + optimizer + " " + rules + " }\n", settings, "none");
  EXPECT_TRUE(r.program) << r.messages;
  return r.program ? r.program->train : Train{};
}

Texts slotsOf(const Optimizer &optimizer) {
  Texts slots;
  for (const OptimizerState &state : optimizer.states)
    slots.push_back(state.slot);
  return slots;
}

TEST(Optimizer, ConstantsAreFoldedAndWhatDependsOnTheStepIsComputedOnce) {
  Optimizer adamw = trainBy("AdamW(lr = 0.1, betas = (0.75, 0.5), decay = 0.25)").optimizer();
  EXPECT_TRUE(adamw.standard);
  EXPECT_EQ(slotsOf(adamw), (Texts{"exp_avg", "exp_avg_sq"}));
  EXPECT_EQ(adamw.step.definitions, Texts{});
  EXPECT_EQ(adamw.step.results, (Texts{"sub(1, mul(lr, 0.25))", "div(lr, sub(1, pow(0.75, t)))", "sqrt(sub(1, pow(0.5, t)))"}));
  EXPECT_EQ(adamw.element.definitions,
            (Texts{"%0 = add(exp_avg, mul(sub(g, exp_avg), 0.25))", "%1 = add(mul(exp_avg_sq, 0.5), mul(mul(g, g), 0.5))"}));
  EXPECT_EQ(adamw.element.results, (Texts{"sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"}));
}

TEST(Optimizer, StatesThatTheWeightDoesNotNeedAreLeftOut) {
  Optimizer plain = trainBy("Sgd(lr = 0.1)").optimizer();
  EXPECT_EQ(slotsOf(plain), Texts{});
  EXPECT_EQ(plain.step.results, Texts{"lr"});
  EXPECT_EQ(plain.element.results, Texts{"sub(w, mul($0, g))"});
  EXPECT_EQ(slotsOf(trainBy("Sgd(lr = 0.1, momentum = 0.9)").optimizer()), Texts{"momentum"});
  EXPECT_EQ(slotsOf(trainBy("RMSprop()").optimizer()), Texts{"square_avg"});
  EXPECT_EQ(slotsOf(trainBy("RMSprop(centered = true)").optimizer()), (Texts{"square_avg", "grad_avg"}));
}

TEST(Optimizer, HasTheArgumentsOfItsCall) {
  Optimizer nadam = trainBy("NAdam(betas = (0.5, 0.25))").optimizer();
  EXPECT_EQ(nadam.rate.peak, 2e-3);
  EXPECT_EQ(nadam.number("betas", 1), 0.25);
  EXPECT_EQ(nadam.number("momentum_decay"), 4e-3);
  EXPECT_EQ(nadam.number("momentum", 0, -1), -1);
  EXPECT_EQ(nadam.arguments.front().text, "(0.5, 0.25)");
  ASSERT_EQ(nadam.stepStates.size(), 1u);
  EXPECT_EQ(nadam.stepStates[0].slot, "mu_product");
  EXPECT_EQ(nadam.stepStates[0].initial, 1);
  EXPECT_EQ(trainBy("RMSprop()", "", "", {{"optimizer.alpha", "0.5"}, {"optimizer.centered", "true"}}).optimizer().arguments[4].text,
            "true");
}

TEST(Optimizer, ItsOwnTextHidesTheLibrarys) {
  Optimizer own = trainBy("Sgd(lr = 0.1)", "", "optimizer Sgd(lr) { update(x, y) { x = x - 2 * lr * y } }").optimizer();
  EXPECT_FALSE(own.standard);
  EXPECT_EQ(own.weight, "x");
  EXPECT_EQ(own.step.results, Texts{"mul(2, lr)"});
  EXPECT_EQ(own.element.results, Texts{"sub(x, mul($0, y))"});
}

TEST(Optimizer, RulesChooseOptimizersAndDecays) {
  Train t = trainBy("AdamW(lr = 0.1, decay = 0.5)", "for \"*.bias\" { decay 0 } for \"head.*\" { optimizer Lion(lr = 0.25) lr * 2 }");
  ASSERT_EQ(t.optimizers.size(), 4u);
  EXPECT_EQ(t.optimizers[1].number("decay"), 0); // biases under AdamW
  EXPECT_EQ(t.optimizers[2].name, "Lion");       // the head's weight
  EXPECT_EQ(t.optimizers[2].rate.peak, 0.25);
  EXPECT_EQ(t.optimizers[3].name, "Lion"); // its bias, without decay
  EXPECT_EQ(t.optimizers[3].number("decay"), 0);
  std::vector<size_t> counts(4);
  for (const ParameterTraining &each : t.parameters)
    ++counts[each.optimizer];
  EXPECT_GT(counts[0], 0u);
  EXPECT_EQ(counts[2], 1u);
  EXPECT_EQ(counts[3], 1u);
}

TEST(Optimizer, ConditionsAreFoldedOrChosenForEachElement) {
  Optimizer clipped = trainBy("Clipped(lr = 1)", "",
                              "optimizer Clipped(lr, most = 2, on = true) {\n"
                              "  update(w, g) { w = w - lr * where(on and g >= most, most, where(not on, 0, -g)) }\n}")
                          .optimizer();
  EXPECT_EQ(clipped.element.results, Texts{"sub(w, mul($0, select(or(less(2, g), equal(2, g)), 2, neg(g))))"});
}

TEST(Optimizer, IsBoundedInStates) {
  std::string names = "s0", updates = "s0 = g", sum = "s0";
  for (int i = 1; i < 17; ++i) {
    std::string name = "s" + std::to_string(i);
    names += ", " + name, updates += " " + name + " = g", sum += " + " + name;
  }
  Result r = elaborateText("import \"mlp\"\noptimizer Wide(lr) { state " + names + " = zeros update(w, g) { " + updates +
                               " w = w - lr * (" + sum + ") } }\ntrain mine for Mlp { batch 8 optimizer Wide(lr = 1) }\n",
                           {}, "none");
  EXPECT_NE(r.messages.find("an optimizer has at most 16 states"), std::string::npos) << r.messages;
}

// A long chain is neither slow nor deep: it is refused.
TEST(Optimizer, IsBoundedInSize) {
  std::string chain = "w = w - lr * g";
  for (int i = 0; i < 5000; ++i)
    chain += " w = w + g * " + std::to_string(i + 2);
  Result r = elaborateText("import \"mlp\"\noptimizer Long(lr) { update(w, g) { " + chain +
                               " } }\ntrain mine for Mlp { batch 8 optimizer Long(lr = 1) }\n",
                           {}, "none");
  EXPECT_FALSE(r.program);
  EXPECT_NE(r.messages.find("an optimizer with more than 2000 operations"), std::string::npos) << r.messages;
}

} // namespace
