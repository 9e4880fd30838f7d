// Tests `npar inspect why` and `npar inspect bytes`: equal collectives are one entry, rules have lines, state is counted per parameter.
#include "engine/show/CollectiveCauses.h"
#include "engine/show/ParameterBytes.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

/// Two equal blocks reduce over tp in stage 0's forward fragment, asked for by one rule.
ProgramT withRules() {
  ProgramT program = timedStages();
  program.labels.push_back(std::make_unique<LabelT>());
  program.labels.back()->text = "hidden -> tp";
  program.labels.back()->source = std::make_unique<SourcePlaceT>();
  program.labels.back()->source->file = "plans/p.npar";
  program.labels.back()->source->line = 5, program.labels.back()->source->column = 9;
  uint32_t rule = static_cast<uint32_t>(program.labels.size()) - 1, second = addAllReduce(program, {1}, 3, 16);
  for (uint32_t index : {0u, second}) {
    CollectiveT &collective = *program.collectives[index];
    collective.cause = std::make_unique<CauseT>();
    collective.cause->kind = CauseKind::SumsOverSplit, collective.cause->operation = "einsum";
    collective.cause->axes.push_back(std::make_unique<CauseAxisT>());
    collective.cause->axes.back()->axis = "hidden", collective.cause->axes.back()->rule = "hidden -> tp";
    collective.from = "embed : 16, partial = {tp : sum}", collective.to = "embed : 16";
    collective.rules = {rule};
  }
  FragmentT &forward = *program.classes[0]->fragments[1];
  uint32_t box = forward.operands[forward.steps[1].first_operand()].region();
  addStep(program, *program.classes[0], 1, StepKind::Collective, second, {{box, 0, 64}}, {{box, 0, 64}}, {}, "all_reduce again");
  for (auto &label : program.labels)
    label->path = label->text == "all_reduce" ? "h.0.mlp" : label->text == "all_reduce again" ? "h.1.mlp" : "";
  return program;
}

} // namespace

TEST(Why, EqualBlocksAreOneEntry) {
  Packed packed(withRules());
  View view = viewOf(packed.root());
  std::vector<WhyEntry> entries = whyOf(view, view.classes[0]);
  ASSERT_EQ(entries.size(), 2u); // and the norm of the update
  const WhyEntry &entry = entries[0];
  EXPECT_EQ(entry.path, "h.*.mlp");
  EXPECT_EQ(entry.steps, 2u);
  EXPECT_EQ(entry.count, 4u); // two micro-batches
  EXPECT_EQ(entry.bytes, 4u * 64);
  EXPECT_EQ(entry.sent, 4u * 64); // 2 (n - 1) / n of the input, n = 2
  EXPECT_EQ(entry.from, "embed : 16, partial = {tp : sum}");
  EXPECT_EQ(entry.to, "embed : 16");
  ASSERT_EQ(entry.rules.size(), 1u);
  EXPECT_EQ(entry.rules[0], std::pair(std::string("hidden -> tp"), std::string("p.npar:5:9")));
  EXPECT_EQ(entry.remedy, "leaving out 'hidden -> tp', or exempting the operation above it: 'hidden -> none in op einsum'");
  std::string text = whyText(view);
  EXPECT_NE(text.find("h.*.mlp: 2 x"), std::string::npos) << text;
  EXPECT_NE(text.find("asked for by p.npar:5:9  hidden -> tp"), std::string::npos) << text;
  EXPECT_NE(text.find("cause        'einsum' sums over 'hidden', split by rule 'hidden -> tp'"), std::string::npos) << text;
  OrderedJson json = whyJson(view, view.classes[0])[0];
  EXPECT_EQ(json["rules"][0]["source"], "p.npar:5:9");
  EXPECT_EQ(json["reason"]["kind"], "sums_over_split");
  EXPECT_EQ(json["reason"]["operation"], "einsum");
  EXPECT_EQ(json["reason"]["axes"][0]["rule"], "hidden -> tp");
}

// The order is that of the program, or the largest first; the text begins with the totals of all entries.
TEST(Why, TheLargestIsFirstIfAsked) {
  ProgramT program = withRules();
  program.collectives.back()->to = "embed : 16 {tp}";
  FragmentT &forward = *program.classes[0]->fragments[1];
  uint32_t box = forward.operands[forward.steps.back().first_operand()].region(),
           last = static_cast<uint32_t>(program.collectives.size()) - 1;
  addStep(program, *program.classes[0], 1, StepKind::Collective, last, {{box, 0, 64}}, {{box, 0, 64}}, {}, "all_reduce again");
  Packed packed(program);
  View view = viewOf(packed.root());
  std::vector<WhyEntry> entries = whyOf(view, view.classes[0]), sorted = whyOf(view, view.classes[0], WhyOrder::LargestFirst);
  ASSERT_EQ(entries.size(), 3u); // and the norm of the update
  EXPECT_EQ(entries[0].to, "embed : 16");
  EXPECT_EQ(entries[0].sent, 2u * 64);
  EXPECT_EQ(sorted[0].to, "embed : 16 {tp}");
  EXPECT_EQ(sorted[0].sent, 4u * 64);
  EXPECT_EQ(whyJson(view, view.classes[0], WhyOrder::LargestFirst)[0]["to"], sorted[0].to);
  std::string total = " and rank: 7 collectives, " + std::to_string(6 * 64 + entries[2].sent) + " B sent\n";
  EXPECT_NE(whyText(view).find(total), std::string::npos) << whyText(view);
}

// A collective with another target layout is another entry, even if kind, cause and rule are the same.
TEST(Why, OtherLayoutsAreOtherEntries) {
  ProgramT program = withRules();
  program.collectives.back()->to = "embed : 16 {tp}";
  Packed packed(program);
  View view = viewOf(packed.root());
  EXPECT_EQ(whyOf(view, view.classes[0]).size(), 3u);
}

TEST(Why, SentBytesAreThoseOfTheBestAlgorithms) {
  EXPECT_EQ(sentBytes(CollectiveKind::AllReduce, 400, 4), 600u);
  EXPECT_EQ(sentBytes(CollectiveKind::ReduceScatter, 400, 4), 300u);
  EXPECT_EQ(sentBytes(CollectiveKind::AllGather, 100, 4), 300u);
  EXPECT_EQ(sentBytes(CollectiveKind::AllToAll, 400, 4), 300u);
  EXPECT_EQ(sentBytes(CollectiveKind::AllReduce, 400, 1), 0u);
}

TEST(ParameterBytes, CountsEachKindOfState) {
  ProgramT program = timedStages();
  program.parameters = 32;
  auto add = [&](VariableKind kind, const char *slot, ElementType type, uint64_t bytes) {
    program.variables.push_back(std::make_unique<VariableT>());
    program.variables.back()->kind = kind, program.variables.back()->slot = slot;
    program.variables.back()->type = type, program.variables.back()->of = 0;
    program.classes[0]->pieces.push_back(std::make_unique<PieceT>());
    program.classes[0]->pieces.back()->variable = static_cast<uint32_t>(program.variables.size()) - 1;
    program.classes[0]->pieces.back()->bytes = bytes;
  };
  add(VariableKind::Accumulator, "", ElementType::F64, 128);
  add(VariableKind::State, "exp_avg", ElementType::F32, 32);
  add(VariableKind::State, "exp_avg", ElementType::F32, 32);
  add(VariableKind::Output, "", ElementType::F64, 8); // no state of the model
  Packed packed(program);
  auto json = parameterBytesJson(packed.root(), *packed.root().classes()->Get(0));
  EXPECT_EQ(json["parameters"]["bytes"], 64);
  EXPECT_EQ(json["gradients"]["per_parameter"], 4.0);
  EXPECT_EQ(json["gradients"]["type"], "F64");
  EXPECT_EQ(json["exp_avg"]["bytes"], 64);
  EXPECT_EQ(json["total"]["bytes"], 256);
  EXPECT_EQ(json["total"]["gigabytes"], 256e-9);
  EXPECT_NE(parameterBytesText(packed.root()).find("exp_avg     F32"), std::string::npos);
}
