// Plans: mesh, rules, micro-batches, and how settings change them.
#include "Npar.h"

#include <gtest/gtest.h>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

const std::string gpt2 = stdlib + "/models/gpt2.npar";

Result small(Settings settings, std::optional<std::string> plan = {}) {
  Settings all = {{"vocab", "257"}, {"context", "32"}, {"width", "32"}, {"heads", "4"}, {"depth", "4"}};
  all.insert(all.end(), settings.begin(), settings.end());
  return elaborateFile(gpt2, all, std::move(plan));
}

Program program(const Result &result) {
  EXPECT_TRUE(result.program) << result.messages;
  return result.program.value_or(Program{});
}

std::vector<std::string> axesOf(const Plan &plan) {
  std::vector<std::string> result;
  for (const Rule &r : plan.rules)
    result.push_back(r.axis + (r.pad ? " pad" : ""));
  return result;
}

TEST(Plan, ThreeD) {
  Plan p = program(small({})).plan;
  EXPECT_EQ(p.name, "three_d");
  ASSERT_EQ(p.mesh.size(), 3u);
  EXPECT_EQ(p.mesh[1].name, "pp");
  EXPECT_EQ(p.mesh[1].size, 2);
  EXPECT_EQ(axesOf(p), (std::vector<std::string>{"batch", "head", "hidden", "vocab pad"}));
  ASSERT_TRUE(p.pipeline);
  EXPECT_EQ(p.pipeline->repeats, std::vector<std::string>{"h"});
  EXPECT_EQ(p.pipeline->schedule, "1f1b");
  EXPECT_EQ(p.dataParallel, 2);
  EXPECT_EQ(p.micro, 2);
  EXPECT_EQ(p.microCount, 8);
}

TEST(Plan, SettingsChangeMeshScheduleAndRules) {
  Plan p =
      program(small({{"mesh.tp", "4"}, {"dp", "1"}, {"mesh.pp", "4"}, {"schedule", "gpipe"}, {"sequence", "true"}, {"micro", "1"}})).plan;
  EXPECT_EQ(axesOf(p), (std::vector<std::string>{"batch", "head", "hidden", "vocab pad", "seq"}));
  EXPECT_EQ(p.mesh[2].size, 4);
  EXPECT_EQ(p.pipeline->schedule, "gpipe");
  EXPECT_EQ(p.dataParallel, 1);
  EXPECT_EQ(p.microCount, 32);
}

TEST(Plan, TakesTheScheduleAsAWord) { EXPECT_EQ(program(small({{"schedule", "1f1b"}})).plan.pipeline->schedule, "1f1b"); }

TEST(Plan, MeshAxesMayHaveSizeOne) {
  Plan p = program(small({{"mesh.dp", "1"}, {"mesh.pp", "1"}, {"mesh.tp", "1"}, {"heads", "1"}, {"depth", "1"}})).plan;
  EXPECT_EQ(p.dataParallel, 1);
}

TEST(Plan, NoneIsOneRank) {
  Program p = program(small({{"mesh.dp", "4"}, {"schedule", "gpipe"}}, "none"));
  EXPECT_TRUE(p.plan.mesh.empty());
  EXPECT_TRUE(p.plan.rules.empty());
  EXPECT_FALSE(p.plan.pipeline);
  EXPECT_EQ(p.plan.micro, 32);
  EXPECT_EQ(p.plan.microCount, 1);
  EXPECT_EQ(sizeOf(p, "batch"), 32);
  EXPECT_EQ(program(small({{"micro", "4"}}, "none")).plan.microCount, 8);
}

TEST(Plan, ComputesInTheElementTypeAskedFor) {
  Program p = program(small({{"compute", "f64"}}));
  EXPECT_EQ(p.plan.compute, ElementType::F64);
  EXPECT_EQ(p.model.parameters[0].type.element, ElementType::F64);
  EXPECT_EQ(p.model.nodes[static_cast<size_t>(p.model.loss)].type.element, ElementType::F64);
  EXPECT_EQ(p.model.nodes[0].type.element, ElementType::I32);
}

TEST(Plan, KeepsNarrowedRules) {
  Result r = elaborateText(
      "import \"gpt2\"\nplan p(sp = 2) for Gpt2 { mesh dp = 2, sp micro 2 split {\n batch -> dp\n head -> sp in op attention\n"
      " seq -> none in layer \"h.*.attn\"\n seq -> sp\n } }\n",
      {{"depth", "2"}});
  Plan p = program(r).plan;
  ASSERT_EQ(p.rules.size(), 4u);
  EXPECT_EQ(p.rules[1].op, "attention");
  EXPECT_EQ(p.rules[2].layer, "h.*.attn");
  EXPECT_TRUE(p.rules[2].mesh.empty());
}

TEST(Plan, BatchMayTakeSeveralMeshAxes) {
  Result r =
      elaborateText("import \"gpt2\"\nplan p for Gpt2 { mesh node = 2, dp = 4 micro 1 split { batch -> node, dp } }\n", {{"depth", "1"}});
  EXPECT_EQ(program(r).plan.dataParallel, 8);
  EXPECT_EQ(program(r).plan.microCount, 4);
}

TEST(Plan, WarnsOfAnUnusedMeshAxis) {
  Result r = elaborateText("import \"gpt2\"\nplan p for Gpt2 { mesh dp = 4, tp = 2 micro 1 split { batch -> dp } }\n", {{"depth", "1"}});
  EXPECT_TRUE(r.program);
  EXPECT_NE(r.messages.find("2:32: warning: no rule uses mesh axis 'tp' of size 2"), std::string::npos) << r.messages;
}

} // namespace
