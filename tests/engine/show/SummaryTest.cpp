// Tests the counts of inspect: steps times tasks, collectives by kind and axes, transfers by coordinate difference, ranks as ranges.
#include "engine/show/Summary.h"
#include "engine/json/Json.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

// Two stages of two ranks, two micro-batches: stage 0 reduces over tp and sends once per micro-batch; the update reduces over both axes.
TEST(Summary, CountsPerRankAndTrainingStep) {
  Packed packed(twoStages());
  Summary summary = summarize(packed.root());
  ASSERT_EQ(summary.classes.size(), 2u);
  EXPECT_EQ(summary.world, 4);
  const ClassSummary &first = summary.classes[0], &second = summary.classes[1];
  EXPECT_EQ(first.ranks, (std::vector<std::pair<int64_t, int64_t>>{{0, 1}}));
  EXPECT_EQ(second.ranks, (std::vector<std::pair<int64_t, int64_t>>{{2, 3}}));
  ASSERT_EQ(first.transfers.size(), 1u);
  EXPECT_EQ(first.transfers[0].to, "pp+1");
  EXPECT_EQ(first.transfers[0].count, 2u);
  EXPECT_EQ(first.transfers[0].bytes, 2u * 16 * 4);
  EXPECT_TRUE(second.transfers.empty());
  bool overTp = false, overBoth = false;
  for (const CollectiveSummary &one : first.collectives) {
    overTp |= one.kind == "all_reduce" && one.over == "tp" && one.count == 2 && one.bytes == 2u * 16 * 4;
    overBoth |= one.kind == "all_reduce" && one.over == "pp,tp" && one.count == 1;
  }
  EXPECT_TRUE(overTp);
  EXPECT_TRUE(overBoth);
}

TEST(Summary, JsonHasTheFieldsThatToolsRelyOn) {
  Packed packed(twoStages());
  OrderedJson json = summaryJson(summarize(packed.root()));
  EXPECT_EQ(json["mesh"].dump(), R"({"pp":2,"tp":2})");
  EXPECT_EQ(json["classes"][1]["ranks"].dump(), "[[2,3]]");
  EXPECT_EQ(json["classes"][1]["coordinates"].dump(), R"({"pp":1})");
  for (const char *field : {"parameter_bytes", "gradient_bytes", "optimizer_bytes", "activation_bytes", "arena_bytes", "program_steps",
                            "flops", "collectives", "transfers"})
    EXPECT_TRUE(json["classes"][0].contains(field)) << field;
}
