// Tests checkpoint rules in both directions: names in files and names of parameters.
#include "engine/program/CheckpointRules.h"
#include "engine/program/Loader.h"

#include <gtest/gtest.h>

namespace npar::testing {
namespace {

using namespace program;

class CheckpointRulesTest : public ::testing::Test {
protected:
  const Program &with(const std::vector<std::tuple<CheckpointRuleKind, std::string, std::string>> &rules) {
    ProgramT program;
    for (const auto &[kind, file, model] : rules) {
      auto rule = std::make_unique<CheckpointRuleT>();
      rule->kind = kind, rule->file = file, rule->model = model;
      program.checkpoint.push_back(std::move(rule));
    }
    bytes = packProgram(program);
    return *GetProgram(bytes.data() + LoadedProgram::headerBytes);
  }
  std::vector<uint8_t> bytes;
};

TEST_F(CheckpointRulesTest, aPrefixIsLeftOutAndPutBack) {
  const Program &program = with({{CheckpointRuleKind::Rename, "transformer.*", "*"}});
  EXPECT_EQ(parameterOf(program, "transformer.wte.weight"), "wte.weight");
  EXPECT_EQ(parameterOf(program, "wte.weight"), "wte.weight");
  EXPECT_EQ(tensorOf(program, "wte.weight"), "transformer.wte.weight");
}

// Names with and without the prefix are read; the line that keeps names as they are comes first, so they are written so.
TEST_F(CheckpointRulesTest, theFirstLineIsHowNamesAreWritten) {
  const Program &program =
      with({{CheckpointRuleKind::Rename, "model.*", "model.*"}, {CheckpointRuleKind::Rename, "layers.*", "model.layers.*"}});
  EXPECT_EQ(parameterOf(program, "model.layers.0.w"), "model.layers.0.w");
  EXPECT_EQ(parameterOf(program, "layers.0.w"), "model.layers.0.w");
  EXPECT_EQ(tensorOf(program, "model.layers.0.w"), "model.layers.0.w");
  EXPECT_EQ(tensorOf(program, "head.w"), "head.w");
}

// A name that would not be read as the parameter again is none of it.
TEST_F(CheckpointRulesTest, whatDoesNotComeBackIsNotWritten) {
  const Program &lost = with({{CheckpointRuleKind::Rename, "any.*", "one"}, {CheckpointRuleKind::Rename, "single", "one"}});
  EXPECT_EQ(tensorOf(lost, "one"), "single");
  const Program &shadowed = with({{CheckpointRuleKind::Rename, "a.b.*", "x.*"}, {CheckpointRuleKind::Rename, "a.*", "*"}});
  EXPECT_EQ(tensorOf(shadowed, "c"), "a.c");
  EXPECT_EQ(tensorOf(shadowed, "b.c"), "b.c");
  const Program &ignored = with({{CheckpointRuleKind::Ignore, "a.mask*", ""}, {CheckpointRuleKind::Rename, "a.*", "*"}});
  EXPECT_EQ(tensorOf(ignored, "mask_1"), "mask_1");
  EXPECT_EQ(tensorOf(ignored, "w"), "a.w");
}

// A wildcard in braces matches a number, the same on both sides; the number has no sign and no adjacent digits.
TEST_F(CheckpointRulesTest, numbersGoWhereTheirNamesStand) {
  const Program &program = with({{CheckpointRuleKind::Ignore, "mask.{i}", ""},
                                 {CheckpointRuleKind::Rename, "block{i}/expert{e}/*", "h.{i}.moe.{e}.*"},
                                 {CheckpointRuleKind::Rename, "twice.{i}.{i}", "t.{i}"}});
  EXPECT_EQ(parameterOf(program, "block3/expert12/w.b"), "h.3.moe.12.w.b");
  EXPECT_EQ(tensorOf(program, "h.3.moe.12.w.b"), "block3/expert12/w.b");
  for (const char *other : {"block3/expert/w", "blockx/expert1/w", "block-3/expert1/w", "twice.3.4", "block1234567890/expert1/w"})
    EXPECT_EQ(parameterOf(program, other), other);
  EXPECT_EQ(parameterOf(program, "twice.3.3"), "t.3");
  EXPECT_EQ(tensorOf(program, "t.3"), "twice.3.3");
  EXPECT_TRUE(findRule(program, CheckpointRuleKind::Ignore, "mask.17"));
  EXPECT_FALSE(findRule(program, CheckpointRuleKind::Ignore, "mask.x"));
}

// Several names of the file that lead to one parameter say not how it is written; neighbouring numbers take what leaves the others a digit.
TEST_F(CheckpointRulesTest, numbersThatAreLostAreNotWritten) {
  const Program &program = with({{CheckpointRuleKind::Rename, "a.{i}.w", "w"}, {CheckpointRuleKind::Rename, "b{i}{j}", "b.{i}.{j}"}});
  EXPECT_EQ(parameterOf(program, "a.5.w"), "w");
  EXPECT_EQ(tensorOf(program, "w"), "w");
  EXPECT_EQ(parameterOf(program, "b123"), "b.12.3");
}

} // namespace
} // namespace npar::testing
