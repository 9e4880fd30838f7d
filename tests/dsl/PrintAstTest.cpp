// The printed syntax tree (`--emit=ast`): stable, and parsing it gives the same tree.
#include "Npar.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

using namespace npar::dsl;
using namespace npar::dsl::test;

namespace {

std::string printed(const std::string &path) {
  FrontendOptions options;
  options.file = path;
  Sources sources;
  Diagnostics diagnostics(sources);
  std::ostringstream out, messages;
  bool good = printAst(options, sources, diagnostics, out);
  diagnostics.print(messages);
  EXPECT_TRUE(good) << messages.str();
  return out.str();
}

TEST(PrintAst, IsAFixedPointOnTheStandardLibrary) {
  int files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(stdlib)) {
    if (entry.path().extension() != ".npar")
      continue;
    std::string once = printed(entry.path().string());
    TextFile again(once);
    EXPECT_EQ(printed(again.path()), once) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 8);
}

// The printed model elaborates to the same program.
TEST(PrintAst, KeepsTheMeaning) {
  TextFile file(printed(stdlib + "/models/gpt2.npar"));
  Result r = elaborateFile(file.path());
  ASSERT_TRUE(r.program) << r.messages;
  EXPECT_EQ(countParameters(*r.program), 124439808);
  EXPECT_EQ(r.program->plan.rules.size(), 4u);
}

TEST(PrintAst, ShowsTheNumberOfABlock) {
  TextFile file("model M {\n    repeat h[i in 2 * 3] as \"h_{i}\" { x = x * i }\n}\n");
  EXPECT_EQ(printed(file.path()), "model M {\n    repeat h[i in 2 * 3] as \"h_{i}\" {\n        x = x * i\n    }\n}\n");
}

TEST(PrintAst, ShowsPrecedence) {
  TextFile file("model M {\n    x = -a.b(c = 1)[d = 2] + 2 * (3 - 4) - 5 require not x == 1 or y and z, \"text\"\n}\n");
  EXPECT_EQ(printed(file.path()),
            "model M {\n    x = (-a.b(c = 1)[d = 2]) + (2 * (3 - 4)) - 5\n    require (not (x == 1)) or (y and z), \"text\"\n}\n");
}

TEST(PrintAst, KeepsPlaces) {
  const std::string text = "plan a for M {\n    mesh dp = 2, tp = 2\n    place dp inside tp\n}\n\nplan b for M {\n    mesh place = 2\n"
                           "    place inside place\n}\n\nplan c for M {\n    mesh inside = 2\n    place inside inside inside\n}\n";
  TextFile file(text);
  EXPECT_EQ(printed(file.path()), text);
}

TEST(PrintAst, KeepsPathsAndCheckpointRules) {
  const std::string text =
      "model M {\n    a as \"b.c\" = Linear(in, out)\n    param d as \"loss\": [e] = ones\n    repeat f[2] as \"layer\" {\n"
      "        checkpoint {\n            rename \"g.*\" -> \"*\"\n            same \"h\" = a.weight\n            fresh \"i\"\n        }\n  "
      "  }\n}\n";
  TextFile file(text);
  EXPECT_EQ(printed(file.path()), text);
}

TEST(PrintAst, KeepsBranchesAndFamilies) {
  const std::string text =
      "model M {\n    if a {\n        b = c\n    } else {\n        if d {\n        }\n    }\n}\n\n"
      "family \"m\" for M {\n    class \"A\", \"B\"\n    take \"e\", \"f.g\" = h else 4 * (i + 1)\n    must \"j\" = [none, 1e-5]\n"
      "    skip \"k*\"\n}\n";
  TextFile file(text);
  EXPECT_EQ(printed(file.path()), text);
}

TEST(PrintAst, KeepsTheClausesOfAPlan) {
  const std::string text = "plan p for M {\n    mesh dp = 2\n    micro 4\n    split {\n        batch -> dp\n    }\n    place spread\n"
                           "    store { gradients, optimizer -> dp per step }\n    recompute every 2\n    bucket 100 MB\n"
                           "    experts buffer 1.5\n"
                           "    require memory <= 24 GiB\n    compute bf16, gradients f32\n    keep norm in f32\n}\n";
  TextFile file(text);
  EXPECT_EQ(printed(file.path()), text);
  TextFile other("plan p for M { store { optimizer -> dp  parameters -> dp if big } compute f64 micro 4 }");
  EXPECT_EQ(printed(other.path()),
            "plan p for M {\n    micro 4\n    store {\n        optimizer -> dp\n        parameters -> dp if big\n    }\n"
            "    compute f64\n}\n");
}

TEST(PrintAst, KeepsHowAScheduleIsWritten) {
  const std::string text =
      "plan p for M {\n    split {\n        h -> pp by 1f1b\n        h -> pp by interleaved(1 + 2)\n        h -> pp by \"mine.csv\"\n"
      "        h -> pp by zb_auto(1) live 2 * pp stages [2, 2] if true\n        live -> live live live\n    }\n}\n";
  TextFile file(text);
  EXPECT_EQ(printed(file.path()), text);
}

} // namespace
