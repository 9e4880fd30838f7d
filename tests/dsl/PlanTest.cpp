// Plans: mesh, rules, micro-batches, and how settings change them.
#include "Npar.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

Result small(Settings settings, std::optional<std::string> plan = {}) {
  Settings all = {{"vocab", "257"}, {"context", "32"}, {"width", "32"}, {"heads", "4"}, {"depth", "4"}};
  all.insert(all.end(), settings.begin(), settings.end());
  return elaborateFile(gpt2, all, std::move(plan));
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

TEST(Plan, AnAxisTakesTheRestOfTheRanks) {
  for (const Settings &settings : {Settings{{"mesh.dp", "rest"}, {"world", "16"}}, {{"dp", "rest"}, {"world", "16"}}}) {
    Plan p = program(small(settings)).plan;
    EXPECT_EQ(p.mesh[0].size, 4);
    EXPECT_EQ(p.dataParallel, 4);
    EXPECT_EQ(p.microCount, 4);
  }
  EXPECT_EQ(program(small({{"mesh.tp", "rest"}, {"mesh.pp", "1"}, {"world", "8"}})).plan.mesh[2].size, 4);
  EXPECT_NE(small({{"mesh.tp", "rest"}}).messages.find("their number is not known (dp = 2, pp = 2)"), std::string::npos);
}

TEST(Plan, BatchMicroAndAccumulateFollowFromEachOther) {
  EXPECT_EQ(program(small({{"accumulate", "8"}})).plan.microCount, 8); // batch 32 = 2 * 2 * 8
  EXPECT_NE(small({{"accumulate", "4"}}).messages.find("batch 32 is not dp * micro * accumulate = 2 * 2 * 4 = 16"), std::string::npos);
  EXPECT_EQ(program(small({{"accumulate", "4"}}, "none")).plan.micro, 8);
}

TEST(Plan, TakesTheScheduleAsAWord) { EXPECT_EQ(program(small({{"schedule", "1f1b"}})).plan.pipeline->schedule, "1f1b"); }

TEST(Plan, TakesANumberOfChunks) {
  EXPECT_EQ(program(small({})).plan.pipeline->chunks, 0);
  EXPECT_EQ(program(small({{"chunks", "1"}})).plan.pipeline->chunks, 1);
  Result r = small({{"chunks", "2"}});
  EXPECT_NE(r.messages.find("error: schedule '1f1b' has 1 chunk per stage, not 2"), std::string::npos) << r.messages;
}

/// A plan for GPT-2 whose pipeline holds what `limit` says.
Result limited(const std::string &limit, const Settings &settings = {}) {
  TextFile file("import \"gpt2\"\nplan p(pp = 4, live = 3) for Gpt2 { mesh pp micro 8 require live > 0, \"\" split { h -> pp " + limit +
                " } }\n");
  return elaborateFile(file.path(), settings);
}

TEST(Plan, TakesALimitOfLiveMicroBatches) {
  EXPECT_EQ(program(small({})).plan.pipeline->live, 0);
  EXPECT_EQ(program(limited("by zb_auto(1) live 2 * pp")).plan.pipeline->live, 8);
  EXPECT_EQ(program(limited("by zb_auto live 2.5 stages [3, 3, 3, 3]")).plan.pipeline->live, 2.5);
  EXPECT_EQ(program(limited("live live if pp > 1")).plan.pipeline->live, 3);
  EXPECT_EQ(program(limited("by zb_auto live live", {{"live", "5"}})).plan.pipeline->live, 5);
  Result r = limited("by zb_auto live live", {{"live", "0.5"}});
  EXPECT_NE(r.messages.find("error: 'live' is 0.5, it must be 1 to"), std::string::npos) << r.messages;
}

/// Elaborates a GPT-2 with a plan whose schedule is `by`; the file mine.csv in the same folder holds `csv`.
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
  EXPECT_NE(
      r.messages.find("mine.csv:1:13: error: '0B0' comes after '0B1': gradients must accumulate in ascending order of micro-batches [M11]\n"
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
  EXPECT_EQ(p.model.mainLoss().type.element, ElementType::F64);
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

/// The plan `p` for a small GPT-2 with these clauses.
Result clauses(const std::string &mesh, const std::string &text, const Settings &more = {}) {
  TextFile file("import \"gpt2\"\nplan p(zero = 3, again = \"block\") for Gpt2 { mesh " + mesh + " micro 1 " + text + " }\n");
  Settings settings = {{"depth", "4"}, {"length", "16"}};
  settings.insert(settings.end(), more.begin(), more.end());
  return elaborateFile(file.path(), settings);
}

TEST(Plan, StoresAreListedOneByOne) {
  const std::string text =
      "split { batch -> node, dp } store { gradients, optimizer -> dp per step if zero > 1 parameters -> dp if zero == 3 }";
  Plan p = program(clauses("node = 2, dp = 2", text)).plan;
  ASSERT_EQ(p.stores.size(), 3u);
  EXPECT_EQ(p.stores[0].what, StoreKind::Gradients);
  EXPECT_TRUE(p.stores[0].perStep);
  EXPECT_EQ(p.stores[1].what, StoreKind::Optimizer);
  EXPECT_FALSE(p.stores[1].perStep);
  EXPECT_EQ(p.stores[2].what, StoreKind::Parameters);
  EXPECT_EQ(p.stores[2].mesh, std::vector<std::string>{"dp"});
  EXPECT_EQ(program(clauses("node = 2, dp = 2", text, {{"zero", "2"}})).plan.stores.size(), 2u);
  EXPECT_TRUE(program(clauses("node = 2, dp = 2", text, {{"zero", "0"}})).plan.stores.empty());
}

TEST(Plan, PlacesByWordOrAxes) {
  using Names = std::vector<std::string>;
  auto place = [](const std::string &text, const std::string &mesh = "dp = 2, tp = 2") {
    return program(clauses(mesh, "split { batch -> dp head, hidden -> tp } " + text)).plan.place;
  };
  EXPECT_FALSE(place(""));
  EXPECT_EQ(place("place spread")->order, Names{"spread"});
  EXPECT_EQ(place("place tp, dp")->order, (Names{"tp", "dp"}));
  EXPECT_EQ(place("place cluster inside tp")->inside, Names{"tp"});
  EXPECT_EQ(place("place inside tp, dp")->inside, (Names{"tp", "dp"}));
  EXPECT_TRUE(place("place inside tp, dp")->order.empty());
  EXPECT_EQ(place("place tp", "dp = 1, tp = 2")->order, (Names{"tp", "dp"})); // one rank: no order to change
}

// A mesh axis that a product axis cuts is placed by its parts.
TEST(Plan, PlacesPartsOfACutAxis) {
  TextFile file("import \"llama\"\nplan p for Llama { mesh dp = 2, tp = 4 micro 1 place tp, dp\n"
                "split { batch -> dp head -> tp } }\n");
  Plan p = program(elaborateFile(file.path(), {{"heads", "8"}, {"kv_heads", "2"}, {"depth", "1"}, {"batch", "2"}})).plan;
  EXPECT_EQ(p.mesh.size(), 3u);
  EXPECT_EQ(p.place->order, (std::vector<std::string>{"tp.0", "tp.1", "dp"}));
}

TEST(Plan, ComputesInTf32WhatIsStoredInFloat32) {
  Plan p = program(clauses("dp = 1", "compute tf32, gradients f32 keep \"h.*.attn\" in f32")).plan;
  EXPECT_EQ(p.compute, ElementType::F32);
  EXPECT_TRUE(p.tf32);
  EXPECT_FALSE(p.gradients);
  ASSERT_EQ(p.keeps.size(), 1u);
  EXPECT_EQ(p.keeps[0].what, "h.*.attn");
  for (const char *other : {"f32", "f64"}) {
    Plan exact = program(clauses("dp = 1", "compute tf32 keep norm in f32", {{"compute", other}})).plan;
    EXPECT_FALSE(exact.tf32);
    EXPECT_TRUE(exact.keeps.empty());
  }
}

TEST(Plan, KindsOfRecomputationAreReadByTheirWords) {
  for (RecomputeKind kind : {RecomputeKind::None, RecomputeKind::Attention, RecomputeKind::Block})
    EXPECT_EQ(program(clauses("dp = 1", std::string("recompute ") + wordOf(kind), {})).plan.recompute.kind, kind) << wordOf(kind);
  EXPECT_STREQ(wordOf(RecomputeKind::Every), "every");
  EXPECT_STREQ(wordOf(RecomputeKind::Layers), "layers");
}

TEST(Plan, RecomputesByWordNumberOrLayers) {
  auto recompute = [](const std::string &text, const Settings &more = {}) { return program(clauses("dp = 1", text, more)).plan.recompute; };
  EXPECT_EQ(recompute("").kind, RecomputeKind::None);
  EXPECT_EQ(recompute("recompute none").kind, RecomputeKind::None);
  EXPECT_EQ(recompute("recompute attention").kind, RecomputeKind::Attention);
  EXPECT_EQ(recompute("recompute again").kind, RecomputeKind::Block);
  EXPECT_EQ(recompute("recompute again", {{"again", "attention"}}).kind, RecomputeKind::Attention);
  EXPECT_EQ(recompute("recompute every 2").every, 2);
  EXPECT_EQ(recompute("recompute [\"h.*.attn\", \"h.3\"]").layers, (std::vector<std::string>{"h.*.attn", "h.3"}));
  EXPECT_EQ(recompute("recompute block", {{"recompute", "3"}}).every, 3);
  EXPECT_EQ(recompute("recompute block", {{"recompute", "none"}}).kind, RecomputeKind::None);
}

TEST(Plan, MixedPrecisionHasExceptionsThatWiderTypesDoNotNeed) {
  const std::string text = "compute bf16, gradients f32, reduce f32 hierarchical keep norm, \"h.*.attn\" in f32";
  Plan p = program(clauses("dp = 1", text)).plan;
  EXPECT_EQ(p.compute, ElementType::BF16);
  EXPECT_EQ(p.gradients, ElementType::F32);
  EXPECT_EQ(p.reduce, ElementType::F32);
  EXPECT_TRUE(p.hierarchical);
  ASSERT_EQ(p.keeps.size(), 2u);
  EXPECT_EQ(p.keeps[0].what, "norm");
  EXPECT_TRUE(p.keeps[1].layer);
  Plan exact = program(clauses("dp = 1", text, {{"compute", "f64"}})).plan;
  EXPECT_EQ(exact.compute, ElementType::F64);
  EXPECT_TRUE(exact.keeps.empty());
  EXPECT_FALSE(exact.gradients);
  EXPECT_TRUE(exact.hierarchical);
}

TEST(Plan, SumsMayBeALibrarys) {
  EXPECT_FALSE(program(clauses("dp = 1", "")).plan.library);
  EXPECT_FALSE(program(clauses("dp = 1", "reduce ordered")).plan.library);
  Plan p = program(clauses("dp = 1", "compute bf16, reduce f32 reduce library")).plan;
  EXPECT_TRUE(p.library);
  EXPECT_EQ(p.reduce, ElementType::F32);
  EXPECT_TRUE(program(clauses("dp = 1", "reduce ordered", {{"reduce", "library"}})).plan.library);
}

TEST(Plan, ProductsOfBf16HaveAnOrder) {
  EXPECT_EQ(program(clauses("dp = 1", "")).plan.products, ProductOrder::Fastest);
  EXPECT_EQ(program(clauses("dp = 1", "compute bf16 products portable")).plan.products, ProductOrder::Portable);
  EXPECT_EQ(program(clauses("dp = 1", "products pairs", {{"products", "fastest"}})).plan.products, ProductOrder::Fastest);
  EXPECT_EQ(program(small({{"products", "pairs"}})).plan.products, ProductOrder::Pairs);
}

TEST(Plan, ExpertsMayHaveABuffer) {
  const std::string model = "import \"Projection\"\nmodel Routed(width = 8, length = 6, experts = 4) {\n axis batch, seq = length, "
                            "embed = width, expert = experts, slot = 2\n input x: f32[batch, seq, embed]\n param w: [expert, embed] = "
                            "normal(0.1)\n router = Projection(embed, expert)\n p = softmax(router(x), over = expert)\n best = top_k(p, "
                            "along = slot, over = expert)\n loss combine(einsum(dispatch(x, best, along = slot, to = expert), w, over = "
                            "embed), gather(p, best, over = expert))\n}\ntrain base for Routed { batch 8 optimizer Sgd(lr = 0.1) }\n";
  auto buffer = [&](const std::string &text, const Settings &more = {}) {
    const std::string plan = "plan p(buffer = none) for Routed { mesh ep = 2 micro 1 split { expert -> ep } " + text + " }";
    return program(elaborateText(model + plan, more)).plan.expertBuffer;
  };
  EXPECT_EQ(buffer(""), 0);
  EXPECT_EQ(buffer("experts buffer 1.5"), 1.5);
  EXPECT_EQ(buffer("experts buffer none"), 0);
  EXPECT_EQ(buffer("experts buffer buffer"), 0);
  EXPECT_EQ(buffer("experts buffer buffer", {{"buffer", "2"}}), 2);
}

TEST(Plan, SizesHaveUnits) {
  Plan p = program(clauses("dp = 1", "bucket 25 MB require memory <= 1.5 GiB, bubble <= 20 % recompute block")).plan;
  EXPECT_EQ(p.bucket, 25000000);
  EXPECT_EQ(p.memoryLimit, 3ll << 29);
  EXPECT_EQ(p.bubbleLimit, 0.2);
  EXPECT_EQ(p.recompute.kind, RecomputeKind::Block);
  EXPECT_EQ(program(clauses("dp = 1", "bucket = 2 KiB")).plan.bucket, 2048);
}

TEST(Plan, StagesByHandAndWaysOfAttention) {
  Plan p = program(clauses("pp = 4, cp = 2", "split { h -> pp by gpipe stages [0, 3, 1, 0] seq -> cp by ring(zigzag) }")).plan;
  EXPECT_EQ(p.pipeline->counts, (std::vector<int64_t>{0, 3, 1, 0}));
  ASSERT_EQ(p.rules.size(), 1u);
  EXPECT_EQ(p.rules[0].by, "ring_zigzag");
  EXPECT_EQ(program(clauses("cp = 2", "split { seq -> cp by ring }")).plan.rules[0].by, "ring");
  EXPECT_EQ(program(clauses("cp = 2", "split { seq -> cp by gather }")).plan.rules[0].by, "gather");
}

TEST(Plan, WordsOfClausesAreNamesElsewhere) {
  const std::string text =
      "import \"mlp\"\nplan store(keep = 2, stages = 1) for Mlp { mesh bucket = keep, per = stages micro 1 split { batch -> bucket } }\n";
  Result r = elaborateFile(TextFile(text).path(), {});
  EXPECT_EQ(program(r).plan.mesh[0].name, "bucket");
}

} // namespace
