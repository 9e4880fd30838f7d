// Tests how schedules are shown: the drawing, the bubble of the published tables, the causes of waiting, and the picture's boxes.
#include "compiler/schedules/show/ScheduleDiff.h"
#include "compiler/schedules/show/ScheduleExplain.h"
#include "compiler/schedules/show/ScheduleSvg.h"
#include "compiler/schedules/show/ScheduleText.h"
#include "engine/json/Json.h"

#include <cmath>
#include <gtest/gtest.h>

namespace npar::schedules {

static TimedSchedule timed(const char *kind, int stages, int micros, StageCost cost = {}, double transfer = 0) {
  TimedSchedule like;
  like.cost = cost;
  like.transfer = transfer;
  return *makeTimed(*findSchedule(kind), stages, micros, 0, like).schedule;
}

static bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST(ScheduleShow, DrawsATimeline) {
  EXPECT_EQ(scheduleText(timed("1f1b", 2, 3)),
            "1f1b: 2 stages, 3 micro-batches, 1 chunk per stage; F 1, B 1, W 1, message 0\n\n"
            "stage 0  F0 F1 .. .. B0--- F2 B1--- .. B2---\n"
            "stage 1  .. F0 B0--- F1 B1--- F2 B2--- .. ..\n"
            "\nmakespan     12\nbubble rate  25.00 %\npeak live    2 1   (forward activations per stage)\n");
}

TEST(ScheduleShow, ScalesUnevenCosts) {
  EXPECT_TRUE(has(scheduleText(timed("1f1b", 2, 1, {1, 1.5, 0}, 0.5)), "stage 0  F0 .. .. .. ..B0-\n"
                                                                       "stage 1  .. ..F0 B0- .. ..\n"));
}

TEST(ScheduleShow, LeavesOutADrawingThatIsTooWide) {
  std::string text = scheduleText(timed("1f1b", 8, 64));
  EXPECT_TRUE(has(text, "the timeline is 852 columns wide, more than 320: --format=svg draws it\n")) << text;
  EXPECT_FALSE(has(text, "stage 0 "));
}

// Zero-bubble paper, table 5: 1.5B on 8 stages, 14.6B on 16; milliseconds.
TEST(ScheduleShow, CountsTheBubbleAsPublished) {
  EXPECT_NEAR(timed("1f1b", 8, 24, {18.522, 18.086, 9.337}, 0.601).bubbleRate, 0.2431, 1e-4);
  EXPECT_NEAR(timed("1f1b", 16, 48, {11.347, 11.248, 8.132}, 0.377).bubbleRate, 0.2552, 1e-4);
}

TEST(ScheduleShow, FaultsMoreThanTheMemoryCap) {
  TimedSchedule like;
  like.memoryCap = 3;
  TimedSchedule held = *makeTimed(*findSchedule("1f1b"), 4, 8, 0, like).schedule;
  ASSERT_EQ(held.faults.size(), 1u);
  EXPECT_EQ(held.faults[0].reason, "holds 4 forward activations at once, the cap is 3");
  EXPECT_TRUE(has(scheduleJson(held).dump(), R"("ok":false,"errors":[{"stage":0,)")) << scheduleJson(held).dump();
}

TEST(ScheduleShow, ComparesTwoOrders) {
  TimedSchedule a = timed("gpipe", 2, 4), b = timed("1f1b", 2, 4);
  std::string text = diffText(a, b);
  EXPECT_TRUE(has(text, "peak live                  4             2            -2\n")) << text;
  EXPECT_TRUE(has(text, "stage 0: from task 2 on, A has F2 F3 B0 B1 ..., B has B0 F2 B1 F3 ...; holds 4 in A, 2 in B\n")) << text;
  EXPECT_TRUE(has(diffText(a, a), "stage 1: the same order; holds 4 in A, 4 in B\n"));
  EXPECT_TRUE(has(diffJson(a, a).dump(), R"("same":true)"));
  EXPECT_TRUE(has(diffJson(a, b).dump(),
                  R"({"stage":1,"same_order":false,"first_difference":1,"a":"F1","b":"B0","peak_live_a":4.0,"peak_live_b":1.0})"))
      << diffJson(a, b).dump();
  EXPECT_EQ(a.messages(), 8);
}

// Parts and causes of a stage's waiting each add up to it; the path's tasks and messages take the whole makespan, each right after the
// other.
TEST(ScheduleExplain, AddsUp) {
  for (const ScheduleKind &kind : scheduleKinds())
    for (double transfer : {0.0, 0.3}) {
      SCOPED_TRACE(testing::Message() << kind.name << " " << transfer);
      TimedSchedule schedule = timed(kind.name, 4, 8, {1, 1.2, 0.7}, transfer);
      ScheduleExplanation explanation = explain(schedule);
      const cost::Timeline &timeline = schedule.times->timeline;
      for (const StageWait &wait : explanation.stages) {
        EXPECT_NEAR(wait.busy + wait.idle, timeline.makespan, 1e-9);
        EXPECT_NEAR(wait.warmUp + wait.steady + wait.drain, wait.idle, 1e-9);
        EXPECT_NEAR(wait.forward + wait.backward + wait.message + wait.done, wait.idle, 1e-9);
      }
      double path = explanation.pathMessages, clock = 0;
      for (double phase : explanation.pathPhases)
        path += phase;
      EXPECT_NEAR(path, timeline.makespan, 1e-9);
      for (const CriticalTask &task : explanation.path) {
        const cost::Span &span = timeline.spans[task.stage][task.place];
        EXPECT_NEAR(span.begin, clock + (task.message ? transfer : 0), 1e-9);
        clock = span.end;
      }
      EXPECT_FALSE(explanation.advice.empty());
    }
}

TEST(ScheduleExplain, NamesWhomAStageWaitsFor) {
  ScheduleExplanation explanation = explain(timed("1f1b", 4, 8));
  EXPECT_EQ(explanation.stages[0].forwardFrom, -1);
  EXPECT_EQ(explanation.stages[0].backwardFrom, 1);
  EXPECT_EQ(explanation.stages[3].forwardFrom, 2);
  EXPECT_EQ(explanation.stages[3].backwardFrom, -1);
  EXPECT_EQ(explanation.stages[3].warmUp, 3); // until the first forward arrives
  EXPECT_EQ(explanation.stages[0].backward, 9);
}

TEST(ScheduleSvg, DrawsEveryTaskOnce) {
  using Part = program::Phase;
  SchedulePicture picture{"a < b",
                          "",
                          {{"one",
                            {{0, 1, Part::Forward, 0, 0, "F"},
                             {1, 2, Part::Backward, 12, 1, "B"},
                             {2, 3, Part::Weight, 0, 0, "W"},
                             {3, 3, Part::Forward, 1, 0, "none"}}}},
                          3,
                          2};
  std::string svg = drawSchedule(picture);
  auto count = [&](const std::string &part) {
    int found = 0;
    for (size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("<title>"), 3);
  EXPECT_EQ(count(">12</text>"), 1);
  EXPECT_TRUE(has(svg, "a &lt; b"));
  EXPECT_TRUE(has(svg, "url(#w0)"));
  EXPECT_EQ(count("<g>"), count("</g>"));
}

} // namespace npar::schedules
