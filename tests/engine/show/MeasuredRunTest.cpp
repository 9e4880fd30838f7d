// A trace made by hand from the plan's ids is averaged and judged; a trace of another program is refused.
#include "engine/show/MeasuredRun.h"
#include "engine/json/Json.h"
#include "tests/engine/show/Packed.h"

#include <functional>
#include <gtest/gtest.h>

using namespace npar;
using namespace npar::program;
using namespace npar::show;

namespace {

struct Times {
  double begin = 0, end = 0; // seconds
};

/// The trace of `steps` training steps of 100 s each; `move` gives each rank's times from the planned ones.
Json traceOf(const View &view, int64_t steps, const std::function<Times(int64_t rank, int64_t step, const ViewStep &, Times)> &move) {
  Json events = Json::array();
  for (int64_t training = 0; training < steps; ++training)
    for (const ClassView &one : view.classes)
      for (int64_t rank : one.rankList)
        for (size_t t = 0; t < one.tasks.size(); ++t) {
          const ViewFragment &fragment = one.fragments[one.tasks[t].fragment];
          for (size_t s = 0; s < fragment.steps.size(); ++s) {
            const ViewStep &step = fragment.steps[s];
            Times times = move(rank, training, step, {one.tasks[t].begin + step.begin, one.tasks[t].begin + step.end});
            events.push_back({{"ph", "X"},
                              {"name", view.labels[step.label].text},
                              {"pid", rank},
                              {"ts", 1e6 * (100.0 * static_cast<double>(training) + times.begin)},
                              {"dur", 1e6 * (times.end - times.begin)},
                              {"args", {{"task", t}, {"step", s}, {"training_step", training}}}});
          }
        }
  return {{"droppedEvents", 0}, {"traceEvents", events}};
}

Times unmoved(int64_t, int64_t, const ViewStep &, Times times) { return times; }

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

class ActualTest : public ::testing::Test {
protected:
  Packed packed{timedStages()};
  View view = viewOf(packed.root());
  std::string refused(const std::string &text) {
    auto actual = measuredRunOf(packed.root(), view, text, "run.json");
    EXPECT_FALSE(actual.ok());
    return actual.ok() ? "" : actual.status().message();
  }
};

} // namespace

TEST_F(ActualTest, ThePlansOwnTimesAreThePlan) {
  auto actual = measuredRunOf(packed.root(), view, traceOf(view, 1, unmoved).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_NEAR(actual->measured.span, view.span, 1e-6);
  EXPECT_NEAR(actual->measured.bubble, view.bubble, 1e-6);
  EXPECT_EQ(actual->trainingSteps, 1);
  EXPECT_TRUE(actual->stragglers.empty());
  ASSERT_EQ(actual->advice.size(), 1u);
  EXPECT_TRUE(has(actual->advice[0], "agree")) << actual->advice[0];
  for (const KindTime &kind : actual->kinds)
    EXPECT_NEAR(kind.planned, kind.measured, 1e-6) << kind.kind;
}

// Everything takes twice as long from the second training step on; the first one, ten times as long, does not count.
TEST_F(ActualTest, TheFirstStepWarmsUpAndDoesNotCount) {
  auto slow = [](int64_t, int64_t training, const ViewStep &, Times times) {
    double factor = training ? 2 : 10;
    return Times{factor * times.begin, factor * times.end};
  };
  auto actual = measuredRunOf(packed.root(), view, traceOf(view, 3, slow).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_EQ(actual->trainingSteps, 2);
  EXPECT_NEAR(actual->measured.span, 2 * view.span, 1e-6);
  EXPECT_NEAR(actual->measured.bubble, view.bubble, 1e-6);
  for (const KindTime &kind : actual->kinds)
    EXPECT_NEAR(kind.measured, 2 * kind.planned, 1e-6) << kind.kind;
}

// All messages last from 50 to 51 s, twice over; computation at the same time hides them.
TEST_F(ActualTest, CommunicationThatNothingHidesIsExposed) {
  auto apart = [](int64_t, int64_t, const ViewStep &step, Times times) { return step.communicates() ? Times{50, 51} : times; };
  auto beside = [](int64_t, int64_t, const ViewStep &step, Times) { return step.communicates() ? Times{50, 51} : Times{50.2, 50.6}; };
  auto actual = measuredRunOf(packed.root(), view, traceOf(view, 3, apart).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_NEAR(actual->exposed, 1, 1e-6);
  EXPECT_NEAR(measuredRunJson(view, *actual)["exposed_seconds"].get<double>(), 1, 1e-6);
  EXPECT_TRUE(has(measuredRunText(view, *actual), "communication not hidden"));
  actual = measuredRunOf(packed.root(), view, traceOf(view, 3, beside).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_NEAR(actual->exposed, 0.6, 1e-6);
}

// Rank 3 of stage 1 (ranks 2 and 3) computes half again as long.
TEST_F(ActualTest, FindsTheStraggler) {
  auto late = [](int64_t rank, int64_t, const ViewStep &step, Times times) {
    if (rank == 3 && !step.communicates())
      times.end += 0.5 * (times.end - times.begin);
    return times;
  };
  auto actual = measuredRunOf(packed.root(), view, traceOf(view, 1, late).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  ASSERT_EQ(actual->stragglers.size(), 1u);
  EXPECT_EQ(actual->stragglers[0].rank, 3);
  EXPECT_NEAR(actual->stragglers[0].seconds / actual->stragglers[0].typical, 1.5, 1e-6);
  EXPECT_TRUE(has(actual->advice[0], "rank 3 of stage 1")) << actual->advice[0];
  EXPECT_TRUE(has(measuredRunText(view, *actual), "rank 3 "));
}

// Stage 1 works three times as long per task: an uneven pipeline and a larger bubble.
TEST_F(ActualTest, SaysWhichStageIsTooMuch) {
  auto heavy = [](int64_t rank, int64_t, const ViewStep &, Times times) {
    return rank >= 2 ? Times{3 * times.begin, 3 * times.end} : times;
  };
  auto actual = measuredRunOf(packed.root(), view, traceOf(view, 1, heavy).dump(), "run.json");
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  EXPECT_GT(actual->measured.bubble, view.bubble + 0.05);
  std::string text = measuredRunText(view, *actual);
  EXPECT_TRUE(has(text, "stage 1 is busy 1.50 times the mean")) << text;
  EXPECT_TRUE(has(text, "the bubble is")) << text;
  EXPECT_EQ(measuredRunJson(view, *actual)["stages"][1]["stage"], 1);
}

TEST_F(ActualTest, RefusesWhatIsNotItsOwn) {
  EXPECT_TRUE(has(refused("hello"), "'run.json' is not a trace"));
  EXPECT_TRUE(has(refused("{}"), "is not a trace"));
  EXPECT_TRUE(has(refused(R"({"traceEvents":[]})"), "no step of a run"));
  EXPECT_TRUE(has(refused(R"({"traceEvents":[{"ph":"X","name":"a"}]})"), "event 0 lacks"));
  EXPECT_TRUE(has(refused(viewTrace(view)), "lacks")); // the planned trace is no run
  Json trace = traceOf(view, 1, unmoved);
  Json other = trace;
  other["traceEvents"][3]["name"] = "something else";
  EXPECT_TRUE(has(refused(other.dump()), "another program: step 2 of task 1 on rank 0 is 'something else' there and 'send'"))
      << refused(other.dump());
  other = trace;
  other["traceEvents"][0]["pid"] = 99;
  EXPECT_TRUE(has(refused(other.dump()), "rank 99, the program 4 ranks"));
  other = trace;
  other["traceEvents"][0]["args"]["task"] = 4000000000u;
  EXPECT_TRUE(has(refused(other.dump()), "no step 0 of task 4000000000"));
  other = trace;
  other["traceEvents"][0]["dur"] = -1;
  EXPECT_TRUE(has(refused(other.dump()), "lasts"));
  other = trace;
  other["traceEvents"].erase(5);
  EXPECT_TRUE(has(refused(other.dump()), "no complete training step"));
}
