// Tests which steps run between a collective and the first use of its result, and that memory and variables keep their limits.
#include "compiler/memory/OverlapCollectives.h"

#include <gtest/gtest.h>
#include <map>

namespace npar::memory {
namespace {

using program::Phase;
using program::StepKind;

/// A class with a fragment whose steps have names; each makes one value of the same name.
class Steps {
public:
  explicit Steps(Phase phase = Phase::Forward) {
    fragment().name = "F0";
    fragment().phase = phase;
  }

  void add(const std::string &name, const std::vector<std::string> &inputs, double seconds = 1, uint64_t bytes = 64) {
    Action action;
    for (const std::string &input : inputs)
      action.inputs.push_back(values.at(input));
    action.outputs = {define(name, bytes)};
    action.label = static_cast<uint32_t>(names.size());
    action.order = ++order;
    action.seconds = seconds;
    names.push_back(name);
    fragment().actions.push_back(action);
  }
  void addCollective(const std::string &name, const std::string &input, double seconds, uint64_t bytes = 64) {
    add(name, {input}, seconds, bytes);
    fragment().actions.back().kind = StepKind::Collective;
  }
  void read(const std::string &name, uint32_t variable) {
    ValueModel &value = fragment().values[define(name, 64)];
    value.variable = variable;
    value.readAt = ++order;
  }
  void write(uint32_t variable, const std::string &name) { fragment().writes.push_back({variable, values.at(name), 0, ++order}); }

  /// Gives the class another fragment, which needs this much scratch.
  void allow(uint64_t bytes) {
    FragmentModel &other = model.fragments.emplace_back();
    other.phase = Phase::Backward;
    other.values.emplace_back().bytes = bytes;
    other.actions.emplace_back().outputs = {0};
  }

  /// The names of the steps in their new order.
  std::string overlapped() {
    overlapCollectives(model);
    std::string text;
    for (const Action &action : fragment().actions)
      text += (text.empty() ? "" : " ") + names[action.label];
    return text;
  }
  FragmentModel &fragment() { return model.fragments.front(); }

private:
  uint32_t define(const std::string &name, uint64_t bytes) {
    values[name] = static_cast<uint32_t>(fragment().values.size());
    fragment().values.emplace_back().bytes = bytes;
    return values[name];
  }

  ClassModel model = [] {
    ClassModel one;
    one.fragments.emplace_back();
    return one;
  }();
  std::map<std::string, uint32_t> values;
  std::vector<std::string> names;
  uint32_t order = 0;
};

/// A layer with experts and a unit that sees all positions: dispatch takes two of the unit's products, combine the third.
TEST(OverlapCollectives, SharesTheUnitThatSeesAllPositions) {
  Steps steps;
  steps.add("x", {});
  steps.addCollective("dispatch", "x", 2);
  steps.add("experts", {"dispatch"}, 4);
  steps.addCollective("combine", "experts", 2);
  steps.add("rows", {"combine"});
  steps.add("gate", {"x"});
  steps.add("up", {"x"});
  steps.add("down", {"gate", "up"});
  steps.add("sum", {"rows", "down"});
  steps.allow(64 * 5);
  EXPECT_EQ(steps.overlapped(), "x dispatch gate up experts combine down rows sum");
  EXPECT_EQ(steps.fragment().actions[1].until, 3u) << "the rows that are sent stay until the second product";
  EXPECT_EQ(steps.fragment().actions[5].until, 6u);
}

/// The backward begins with the unit; this work moves behind the collective and keeps its order.
TEST(OverlapCollectives, MovesEarlierWorkBehindTheCollective) {
  Steps steps(Phase::Backward);
  steps.add("dy", {});
  steps.add("ddown", {"dy"});
  steps.add("dgate", {"ddown"});
  steps.add("dx", {"dgate"});
  steps.addCollective("dispatch", "dy", 2);
  steps.add("experts", {"dispatch"});
  steps.add("sum", {"experts", "dx"});
  steps.allow(64 * 4);
  EXPECT_EQ(steps.overlapped(), "dy ddown dispatch dgate dx experts sum");
}

/// One step hides one collective; the second takes the next one.
TEST(OverlapCollectives, CountsWorkOnce) {
  Steps steps;
  steps.add("x", {});
  steps.addCollective("first", "x", 1);
  steps.addCollective("second", "x", 1);
  steps.add("both", {"first", "second"});
  steps.add("a", {"x"});
  steps.add("b", {"x"});
  steps.add("c", {"x"});
  EXPECT_EQ(steps.overlapped(), "x first second a b both c");
}

/// Work that waits for a later collective would make the first use wait for that one, too.
TEST(OverlapCollectives, LeavesWorkThatWaitsForACollective) {
  Steps steps;
  steps.add("x", {});
  steps.addCollective("first", "x", 1);
  steps.addCollective("second", "x", 1);
  steps.add("use", {"first"});
  steps.add("other", {"second"});
  EXPECT_EQ(steps.overlapped(), "x first second use other");
}

/// Several steps may use the result of a collective; the second is no work to hide it.
TEST(OverlapCollectives, LeavesOtherUsesOfTheResult) {
  Steps steps;
  steps.add("x", {});
  steps.addCollective("dispatch", "x", 3);
  steps.add("gate", {"dispatch"});
  steps.add("up", {"dispatch"});
  steps.add("apart", {"x"});
  EXPECT_EQ(steps.overlapped(), "x dispatch apart gate up");
}

/// Work whose result would be live next to the largest values stays; a smaller one moves.
TEST(OverlapCollectives, KeepsTheMostMemoryThatIsLive) {
  for (uint64_t bytes : {64u, 6400u}) {
    Steps steps;
    steps.add("x", {});
    steps.addCollective("dispatch", "x", 1, 6400);
    steps.add("experts", {"dispatch"}, 1, 6400);
    steps.add("combine", {"experts"});
    steps.add("unit", {"x"}, 1, bytes);
    steps.add("small", {"unit"});
    steps.add("room", {"small"}, 1, 6400);
    steps.add("more", {"room"}, 1, 6400 + 64);
    steps.add("sum", {"combine", "small", "more"});
    EXPECT_EQ(steps.overlapped(),
              bytes == 64 ? "x dispatch unit experts combine small room more sum" : "x dispatch experts combine unit small room more sum");
  }
}

/// A step that adds to a variable stays behind those that added before it, and its read and write go with it.
TEST(OverlapCollectives, KeepsTheOrderOfAVariable) {
  Steps steps(Phase::Backward);
  steps.add("x", {});
  steps.addCollective("reduce", "x", 2);
  steps.add("use", {"reduce"});
  steps.read("old", 0);
  steps.add("first", {"old", "use"});
  steps.write(0, "first");
  steps.read("new", 0);
  steps.add("second", {"new", "x"});
  steps.write(0, "second");
  steps.read("other", 1);
  steps.add("apart", {"other", "x"});
  steps.write(1, "apart");
  EXPECT_EQ(steps.overlapped(), "x reduce apart use first second");
  const FragmentModel &fragment = steps.fragment();
  std::map<std::string, uint32_t> at{{"x", 0}, {"reduce", 1}, {"apart", 2}, {"use", 3}, {"first", 4}, {"second", 5}};
  auto orderOf = [&](const std::string &name) { return fragment.actions[at[name]].order; };
  EXPECT_LT(orderOf("apart"), fragment.writes[2].order);
  EXPECT_LT(orderOf("first"), fragment.writes[0].order);
  EXPECT_GT(orderOf("second"), fragment.writes[0].order);
  EXPECT_LT(orderOf("second"), fragment.writes[1].order);
  for (const ValueModel &value : fragment.values)
    if (value.variable == 0 && value.readAt > fragment.writes[0].order) {
      EXPECT_LT(value.readAt, orderOf("second"));
    } else if (value.variable == 0) {
      EXPECT_LT(value.readAt, orderOf("first"));
    }
}

/// The update keeps its order: its collectives join the stages of a pipeline.
TEST(OverlapCollectives, LeavesTheUpdate) {
  Steps steps(Phase::Update);
  steps.add("x", {});
  steps.addCollective("norm", "x", 1);
  steps.add("use", {"norm"});
  steps.add("other", {"x"});
  EXPECT_EQ(steps.overlapped(), "x norm use other");
}

} // namespace
} // namespace npar::memory
