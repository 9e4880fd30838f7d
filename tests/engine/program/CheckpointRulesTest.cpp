// Names in files and names of parameters: the rules read in both directions.
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

} // namespace
} // namespace npar::testing
