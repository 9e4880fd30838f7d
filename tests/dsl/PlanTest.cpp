// Plans: mesh, rules, micro-batches, and how settings change them.
#include "Npar.h"

#include <gtest/gtest.h>

#include <fstream>

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

TEST(Plan, TakesANumberOfChunks) {
  EXPECT_EQ(program(small({})).plan.pipeline->chunks, 0);
  EXPECT_EQ(program(small({{"chunks", "1"}})).plan.pipeline->chunks, 1);
  Result r = small({{"chunks", "2"}});
  EXPECT_NE(r.messages.find("error: schedule '1f1b' has 1 chunk per stage, not 2"), std::string::npos) << r.messages;
}

/// A GPT-2 with a plan whose schedule is `by`, beside a file mine.csv.
Result planned(const std::string &by, const std::string &csv, const Settings &more = {}) {
  TextFile file("import \"gpt2\"\nplan p(which = \"mine.csv\") for Gpt2 { mesh pp = 2 micro 16 split { h -> pp by " + by + " } }\n");
  std::string folder = file.path().substr(0, file.path().rfind('/'));
  std::ofstream(folder + "/mine.csv", std::ios::binary) << csv;
  Settings settings = {{"depth", "4"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return elaborateFile(file.path(), settings);
}

TEST(Plan, TakesAScheduleFromAFileBesideTheText) {
  const std::string csv = "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n";
  EXPECT_NE(planned("which(2)", csv).messages.find("error: schedule \"mine.csv\" has 1 chunk per stage, not 2"), std::string::npos);
  for (const char *by : {"\"mine.csv\"", "which", "which(1)"}) {
    Plan p = program(planned(by, csv)).plan;
    EXPECT_EQ(p.pipeline->schedule, "mine.csv");
    EXPECT_EQ(p.pipeline->path.substr(p.pipeline->path.rfind('/')), "/mine.csv");
    EXPECT_EQ(p.pipeline->text, csv);
    EXPECT_EQ(p.pipeline->chunks, 1);
  }
  Plan v = program(planned("\"./mine.csv\"", "0F0,0F1,3F0,3F1,3B0,3B1,0B0,0B1\n1F0,1F1,2F0,2F1,2B0,2B1,1B0,1B1\n")).plan;
  EXPECT_EQ(v.pipeline->chunks, 2);
  EXPECT_EQ(program(planned("\"1f1b\"", "")).plan.pipeline->path, "");
}

TEST(Plan, FindsAScheduleOfTheCommandLineFromTheWorkingFolder) {
  Result r = planned("which", "0F0\n", {{"which", "\"no/mine.csv\""}});
  EXPECT_NE(r.messages.find("error: cannot read 'no/mine.csv': no such file"), std::string::npos) << r.messages;
}

TEST(Plan, LocatesWhatIsWrongInAScheduleFile) {
  Result r = planned("\"mine.csv\"", "0F0,0F1,0B1,0B0\n1F0,1B0,1F1,1B1\n");
  EXPECT_FALSE(r.program);
  EXPECT_NE(r.messages.find("mine.csv:1:13: error: '0B0' comes after '0B1': gradients must accumulate in ascending order of micro-batches\n"
                            "   0F0,0F1,0B1,0B0\n"
                            "               ^~~\n"),
            std::string::npos)
      << r.messages;
  EXPECT_NE(r.messages.find(":2:79: note: the plan takes its schedule from this file"), std::string::npos) << r.messages;
  for (const std::string &csv : {std::string(17 << 20, 'x'), std::string("\0\1\2", 3), std::string()})
    EXPECT_FALSE(planned("\"mine.csv\"", csv).program);
}

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
