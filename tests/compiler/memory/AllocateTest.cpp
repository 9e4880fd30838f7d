// Allocation of single values of a class: reuse, when memory is freed, and values in the memory of gradients.
#include "compiler/memory/AllocateFragment.h"

#include <gtest/gtest.h>
#include <map>

namespace npar::memory {
namespace {

using program::Phase;

/// A fragment with one action after the other on its own result.
FragmentModel chainOf(int length, bool inplace) {
  FragmentModel fragment;
  fragment.name = "F0";
  for (int i = 0; i < length; ++i) {
    fragment.values.emplace_back().bytes = 1024;
    Action &action = fragment.actions.emplace_back();
    action.outputs = {static_cast<uint32_t>(i)};
    action.order = i;
    if (i > 0)
      action.inputs = {static_cast<uint32_t>(i - 1)};
    if (i > 0 && inplace)
      action.inplace = {{0, 0}};
  }
  return fragment;
}

uint64_t scratchOf(FragmentModel fragment) {
  ClassModel model;
  model.fragments.push_back(std::move(fragment));
  model.tasks.push_back({0, 0, 0, 0});
  std::string error;
  auto rankClass = allocateClass(model, {}, error);
  EXPECT_EQ(error, "");
  return rankClass->regions[scratchRegion]->bytes;
}

TEST(Allocate, ReusesScratch) {
  EXPECT_EQ(scratchOf(chainOf(10, false)), 2048u);
  EXPECT_EQ(scratchOf(chainOf(10, true)), 1024u);
}

/// A fragment that makes values of 64 bytes and keeps them, or uses them.
FragmentModel keeping(const std::string &name, Phase phase, const std::vector<std::string> &kept, const std::vector<std::string> &used) {
  FragmentModel fragment;
  fragment.name = name;
  fragment.phase = phase;
  Action sink;
  for (const std::string &slot : used) {
    sink.inputs.push_back(static_cast<uint32_t>(fragment.values.size()));
    fragment.values.emplace_back().bytes = 64;
    fragment.values.back().unstash = slot;
  }
  fragment.actions.push_back(sink);
  for (const std::string &slot : kept) {
    Action make;
    make.outputs = {static_cast<uint32_t>(fragment.values.size())};
    make.order = 1;
    fragment.values.emplace_back().bytes = 64;
    fragment.values.back().stash = slot;
    fragment.actions.push_back(make);
  }
  return fragment;
}

/// Values that only B uses are freed after B; values that W uses stay until W, in separate regions.
TEST(Allocate, FreesWhatOnlyTheBackwardKeeps) {
  ClassModel model;
  model.fragments.push_back(keeping("F0", Phase::Forward, {"b", "w", "both"}, {}));
  model.fragments.push_back(keeping("B0", Phase::Backward, {"dw"}, {"b", "both"}));
  model.fragments.push_back(keeping("W0", Phase::Weight, {}, {"w", "both", "dw"}));
  for (uint32_t micro = 0; micro < 4; ++micro) {
    model.tasks.push_back({0, micro, 0, 0});
    model.tasks.push_back({1, micro, 0, 0});
  }
  for (uint32_t micro = 0; micro < 4; ++micro)
    model.tasks.push_back({2, micro, 0, 0});
  std::string error;
  AllocationOptions options;
  options.microCount = 4;
  auto rankClass = allocateClass(model, options, error);
  ASSERT_TRUE(rankClass) << error;
  std::map<std::string, uint32_t> slots;
  for (const auto &region : rankClass->regions)
    slots[region->name] = region->slots;
  EXPECT_EQ(slots.at("stash_F0_B0"), 1u);
  EXPECT_EQ(slots.at("stash_F0_W0"), 4u);
  EXPECT_EQ(slots.at("stash_F0_B0_W0"), 4u);
  EXPECT_EQ(slots.at("stash_B0_W0"), 4u);
  EXPECT_EQ(rankClass->activation_bytes, 64u * 13);
}

/// F0 keeps a value of 1,024 bytes under one or two slots; B0 makes another one in its place, and one of that; W0 may use the value as
/// well.
uint64_t scratchAfterKept(bool twoSlots, bool usedTwice, bool keptAgain) {
  ClassModel model;
  FragmentModel forward = chainOf(1, false), backward;
  forward.values[0].stash = "x";
  if (twoSlots) {
    forward.values.emplace_back().bytes = 1024;
    forward.values.back().alias = 0;
    forward.values.back().stash = "y";
  }
  backward = chainOf(3, true);
  backward.name = "B0", backward.phase = Phase::Backward;
  backward.values[0].unstash = "x";
  backward.actions.erase(backward.actions.begin());
  if (keptAgain) {
    backward.values.emplace_back().bytes = 1024;
    backward.values.back().alias = 0;
    backward.values.back().stash = "z";
  }
  model.fragments.push_back(std::move(forward));
  model.fragments.push_back(std::move(backward));
  if (twoSlots || usedTwice || keptAgain)
    model.fragments.push_back(keeping("W0", Phase::Weight, {}, {}));
  if (model.fragments.size() > 2) {
    model.fragments[2].values.emplace_back().bytes = 1024;
    model.fragments[2].values.back().unstash = twoSlots ? "y" : keptAgain ? "z" : "x";
    model.fragments[2].actions[0].inputs = {0};
  }
  for (uint32_t fragment = 0; fragment < model.fragments.size(); ++fragment)
    model.tasks.push_back({fragment, 0, 0, 0});
  std::string error;
  auto rankClass = allocateClass(model, {}, error);
  EXPECT_EQ(error, "");
  return rankClass ? rankClass->regions[scratchRegion]->bytes : 0;
}

/// A value kept for a single fragment may be overwritten there after its last use; a value that others read under this or another slot
/// stays.
TEST(Allocate, OverwritesWhatWasKeptForOneFragmentAlone) {
  EXPECT_EQ(scratchAfterKept(false, false, false), 0u);
  EXPECT_EQ(scratchAfterKept(true, false, false), 1024u);
  EXPECT_EQ(scratchAfterKept(false, true, false), 1024u);
  EXPECT_EQ(scratchAfterKept(false, false, true), 1024u);
}

/// F0 keeps two values of 1,024 bytes, B0 uses one for the gradient that it writes last, the other one before it writes any.
std::unique_ptr<program::RankClassT> keepingBesideGradients(uint32_t micros, bool read) {
  ClassModel model;
  for (uint32_t index = 0; index < 2; ++index) {
    VariableModel &variable = model.variables.emplace_back();
    variable.variable = index;
    variable.kind = program::VariableKind::Accumulator;
    variable.bytes = 1024;
    variable.piece = std::make_unique<program::PieceT>();
    variable.piece->variable = index;
  }
  FragmentModel forward = chainOf(2, false), backward;
  forward.values[0].stash = "late", forward.values[1].stash = "early";
  backward.name = "B0", backward.phase = Phase::Backward;
  auto add = [&](uint64_t bytes, std::vector<uint32_t> inputs) {
    Action &action = backward.actions.emplace_back();
    action.inputs = std::move(inputs);
    action.outputs = {static_cast<uint32_t>(backward.values.size())};
    action.order = static_cast<uint32_t>(10 * backward.actions.size());
    backward.values.emplace_back().bytes = bytes;
  };
  for (const char *slot : {"late", "early"}) {
    backward.values.emplace_back().bytes = 1024;
    backward.values.back().unstash = slot;
  }
  add(64, {1});
  add(1024, {2});
  backward.writes.push_back({1, 3, 0, 21});
  add(1024, {2, 0});
  backward.writes.push_back({0, 4, 0, 31});
  if (read) { // of what the step begins with
    backward.values.emplace_back().bytes = 1024;
    backward.values.back().variable = 1, backward.values.back().readAt = 1;
    backward.actions[0].inputs.push_back(5);
  }
  model.fragments.push_back(std::move(forward));
  model.fragments.push_back(std::move(backward));
  for (uint32_t micro = 0; micro < micros; ++micro)
    for (uint32_t fragment = 0; fragment < 2; ++fragment)
      model.tasks.push_back({fragment, micro, 0, 0});
  std::string error;
  AllocationOptions options;
  options.microCount = micros;
  auto rankClass = allocateClass(model, options, error);
  EXPECT_EQ(error, "");
  return rankClass;
}

/// If there is one micro-batch, a kept value can be stored in the memory of a gradient written after its last use; the accumulators are
/// in the order in which they are written. This does not happen with more micro-batches, or if the initial contents of an accumulator are
/// read.
TEST(Allocate, KeepsValuesWhereGradientsWillBe) {
  auto one = keepingBesideGradients(1, false);
  EXPECT_EQ(one->pieces[1]->offset, 0u);
  EXPECT_EQ(one->pieces[0]->offset, 1024u);
  EXPECT_EQ(one->arena_bytes, 2048u + 64 + 1024);
  const program::Operand &early = one->fragments[1]->operands[one->fragments[1]->steps[0].first_operand()];
  EXPECT_EQ(early.region(), uint32_t(staticRegion));
  EXPECT_EQ(early.offset(), 0u);

  EXPECT_EQ(keepingBesideGradients(2, false)->arena_bytes, 2048u + 64 + 2048);
  // Written first is now the other one; there the value that dies early finds its place.
  auto read = keepingBesideGradients(1, true);
  EXPECT_EQ(read->pieces[1]->offset, 0u);
  EXPECT_EQ(read->arena_bytes, 2048u + 64 + 1024);
  EXPECT_EQ(read->fragments[1]->operands[read->fragments[1]->steps[0].first_operand()].offset(), 1024u);
}

/// Parts of a stage keep values for each other: their memory is allocated in the order in which they run, regardless of their order in the
/// model.
TEST(Allocate, AllocatesPartsInTheOrderOfTheirValues) {
  ClassModel model;
  model.fragments.push_back(keeping("B0", Phase::Backward, {}, {"d"}));
  model.fragments.push_back(keeping("B7", Phase::Backward, {"d"}, {"x"}));
  model.fragments.push_back(keeping("F7", Phase::Forward, {}, {"x"}));
  model.fragments.push_back(keeping("F0", Phase::Forward, {"x"}, {}));
  for (uint32_t fragment : {3, 2, 1, 0})
    model.tasks.push_back({fragment, 0, 0, 0});
  std::string error;
  auto rankClass = allocateClass(model, {}, error);
  ASSERT_TRUE(rankClass) << error;
  EXPECT_EQ(rankClass->regions[firstShared]->name, "stash_F0_B7_F7");
  EXPECT_EQ(rankClass->fragments[1]->name, "B7");

  model.fragments[3].values.emplace_back().bytes = 64;
  model.fragments[3].values.back().unstash = "d";
  EXPECT_FALSE(allocateClass(model, {}, error));
  EXPECT_EQ(error, "fragments of '' keep values for each other in a cycle");
}

} // namespace
} // namespace npar::memory
