// Tests the inspector's view: bubble, balance, messages and their other ends, causes counted together, the terminal's text.
#include "engine/show/View.h"
#include "engine/show/Summary.h"
#include "engine/show/ViewJson.h"
#include "tests/engine/show/Packed.h"

#include <gtest/gtest.h>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

} // namespace

TEST(View, CountsTheBubbleFromFirstToLastWork) {
  Packed packed(timedStages());
  View view = viewOf(packed.root());
  EXPECT_TRUE(view.timed);
  EXPECT_DOUBLE_EQ(view.span, 7);
  EXPECT_NEAR(view.bubble, 1.0 / 3, 1e-12);
  for (const ClassView &one : view.classes) {
    EXPECT_NEAR(one.bubble, 1.0 / 3, 1e-12);
    EXPECT_DOUBLE_EQ(one.busy, 2);
    EXPECT_DOUBLE_EQ(one.balance, 1);
  }
}

TEST(View, AnUnevenStageShowsInTheBalance) {
  ProgramT program = timedStages();
  program.classes[1]->tasks[2].mutate_end(5); // 3 s of work on stage 1, 2 s on stage 0, in a window of 4 s
  Packed packed(program);
  View view = viewOf(packed.root());
  EXPECT_DOUBLE_EQ(view.classes[0].balance, 0.8);
  EXPECT_DOUBLE_EQ(view.classes[1].balance, 1.2);
  EXPECT_DOUBLE_EQ(view.classes[0].bubble, 0.5);
  EXPECT_NEAR(view.bubble, 3.0 / 8, 1e-12);
}

TEST(View, AMessageKnowsItsOtherEnd) {
  Packed packed(timedStages());
  View view = viewOf(packed.root());
  const ViewStep &send = view.classes[0].fragments[1].steps[2], &receive = view.classes[1].fragments[1].steps[0];
  EXPECT_EQ(send.message.kind, "send");
  EXPECT_EQ(send.message.over, "pp+1");
  EXPECT_EQ(send.message.peerClass, 1);
  EXPECT_EQ(receive.message.kind, "receive");
  EXPECT_EQ(receive.message.over, "pp-1");
  EXPECT_EQ(receive.message.peerClass, 0);
  EXPECT_EQ(send.message.event, receive.message.event);
  EXPECT_EQ(send.bytes, 64u);
}

// Classes are shown by stage, in whatever order the program has them; messages follow.
TEST(View, SortsClassesByStage) {
  ProgramT program = timedStages();
  std::swap(program.classes[0], program.classes[1]);
  Packed packed(program);
  View view = viewOf(packed.root());
  EXPECT_EQ(view.classes[0].name, "stage0");
  EXPECT_EQ(view.classes[0].programClass, 1u);
  EXPECT_EQ(view.classes[0].fragments[1].steps[2].message.peerClass, 1);
}

TEST(View, CausesThatDifferInAPathCountTogether) {
  ProgramT program = timedStages();
  auto accumulated = [](const std::string &variable) {
    auto cause = std::make_unique<CauseT>();
    cause->kind = CauseKind::Accumulated, cause->variable = variable;
    return cause;
  };
  program.collectives[0]->cause = accumulated("h.0.w.grad.0");
  uint32_t second = addAllReduce(program, {1}, 3, 8);
  program.collectives[second]->cause = accumulated("h.1.w.grad.0");
  FragmentT &forward = *program.classes[0]->fragments[1];
  uint32_t box = forward.operands[forward.steps[1].first_operand()].region();
  addStep(program, *program.classes[0], 1, StepKind::Collective, second, {{box, 0, 32}}, {{box, 0, 32}}, {}, "all_reduce again");
  for (auto &label : program.labels)
    label->path = label->text == "all_reduce" ? "h.0.attn" : "h.1.attn";
  Packed packed(program);
  View view = viewOf(packed.root());
  ASSERT_EQ(view.classes[0].collectives.size(), 2u); // with the norm of the update
  const CollectiveUse &use = view.classes[0].collectives[0];
  EXPECT_EQ(use.count, 4u);
  EXPECT_EQ(use.bytes, 2u * (64 + 32));
  EXPECT_EQ(use.path, "h.*.attn");
  EXPECT_EQ(describe(use.cause), "each of these was accumulated from each rank's share");
  EXPECT_EQ(use.phase, "forward");
}

TEST(View, AProgramWithoutTimesIsShownInProgramOrder) {
  ProgramT program = timedStages();
  for (auto &rankClass : program.classes)
    for (Task &task : rankClass->tasks)
      task.mutate_begin(0), task.mutate_end(0);
  Packed packed(program);
  View view = viewOf(packed.root());
  EXPECT_FALSE(view.timed);
  EXPECT_DOUBLE_EQ(view.classes[0].tasks[3].begin, 3);
}

TEST(ViewText, ShowsTimelinePeakAndCollectives) {
  ProgramT program = timedStages();
  program.collectives[0]->cause = std::make_unique<CauseT>();
  program.collectives[0]->cause->kind = CauseKind::WantsOrder, program.collectives[0]->cause->operation = "add";
  Packed packed(program);
  std::string text = viewText(viewOf(packed.root()), 38);
  EXPECT_TRUE(has(text, "PPPPFFFFFFFF............UUUU\n")) << text;
  EXPECT_TRUE(has(text, "PPPP....FFFFFFFF........UUUU\n")) << text;
  EXPECT_TRUE(has(text, "bubble 33.3 %")) << text;
  EXPECT_TRUE(has(text, "'add' wants another order of splits")) << text;
  EXPECT_TRUE(has(text, "live memory peaks on stage")) << text;
}

TEST(ViewJson, AddsWhatThePictureShows) {
  Packed packed(timedStages());
  View view = viewOf(packed.root());
  OrderedJson json = summaryJson(summarize(packed.root()));
  addView(json, view);
  EXPECT_EQ(json["schedule"], "1f1b");
  EXPECT_NEAR(json["bubble"].get<double>(), 1.0 / 3, 1e-12);
  EXPECT_EQ(json["classes"][0]["causes"][0]["reason"]["kind"], "none");
  const auto &one = json["classes"][1];
  EXPECT_EQ(one["tasks"].size(), 4u);
  EXPECT_EQ(one["tasks"][1]["phase"], "Forward");
  EXPECT_EQ(one["tasks"][1]["begin"], 2.0);
  uint64_t sum = 0, highest = 0;
  for (const auto &tensor : one["live_peak"])
    sum += tensor["bytes"].get<uint64_t>();
  for (const auto &point : one["live_memory"])
    highest = std::max(highest, point[1].get<uint64_t>());
  EXPECT_EQ(sum, one["live_peak_bytes"].get<uint64_t>());
  EXPECT_EQ(highest, one["live_peak_bytes"].get<uint64_t>());
}
