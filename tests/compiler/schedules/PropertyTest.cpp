// What holds for every schedule over stages 1..8 and micro-batches 1..16, and the closed forms of the papers.
#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Validate.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace npar::schedules {

static Schedule make(const char *name, int stages, int micros) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  return makeSchedule(*findSchedule(name), request).schedule;
}

template <typename Body> void forAllSizes(Body body) {
  for (int stages = 1; stages <= 8; ++stages)
    for (int micros = 1; micros <= 16; ++micros) {
      SCOPED_TRACE(testing::Message() << stages << " stages, " << micros << " micro-batches");
      body(stages, micros);
    }
}

TEST(Property, EveryScheduleIsValid) {
  for (const ScheduleKind &kind : scheduleKinds()) {
    SCOPED_TRACE(kind.name);
    forAllSizes([&](int stages, int micros) {
      if (std::string(kind.name) == "dualpipe_v" && micros < 2 * stages)
        return;
      Schedule schedule = make(kind.name, stages, micros);
      ASSERT_EQ(schedule.stages(), stages);
      EXPECT_TRUE(validate(schedule).empty());
    });
  }
}

// (m + p - 1)(F + B), hence a bubble of (p - 1) / (m + p - 1) of the whole, for both schedules and any F and B.
TEST(Property, BubbleIsThatOfTheClosedForm) {
  for (const char *name : {"gpipe", "1f1b"}) {
    SCOPED_TRACE(name);
    forAllSizes([&](int stages, int micros) {
      for (double backward : {1.0, 2.0}) {
        std::vector<StageCost> costs(stages, {1, backward, 0});
        cost::Timeline timeline = simulate(make(name, stages, micros), costs).timeline;
        EXPECT_DOUBLE_EQ(timeline.makespan, (micros + stages - 1) * (1 + backward));
        EXPECT_NEAR(timeline.bubble, (stages - 1.0) / (micros + stages - 1), 1e-12);
      }
    });
  }
}

TEST(Property, GPipeHoldsAllMicroBatches) {
  forAllSizes([](int stages, int micros) {
    EXPECT_EQ(simulate(make("gpipe", stages, micros), std::vector<StageCost>(stages)).peakLive, std::vector<double>(stages, micros));
  });
}

TEST(Property, OneFOneBHoldsAtMostThePipelineBehindIt) {
  forAllSizes([](int stages, int micros) {
    std::vector<double> peak = simulate(make("1f1b", stages, micros), std::vector<StageCost>(stages)).peakLive;
    for (int stage = 0; stage < stages; ++stage)
      EXPECT_EQ(peak[stage], std::min(stages - stage, micros));
  });
}

// The published rates of 1F1B (zero-bubble paper, table 5): 1.5B on 8 stages, 14.6B on 16; milliseconds.
TEST(Property, OneFOneBReproducesPublishedBubbleRates) {
  struct Row {
    int stages, micros;
    double forward, backward, weight, transfer, rate;
  };
  for (const Row &row : {Row{8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431}, Row{8, 64, 18.546, 18.097, 9.321, 0.762, 0.124},
                         Row{16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552}}) {
    std::vector<StageCost> costs(row.stages, {row.forward, row.backward, row.weight});
    cost::Timeline timeline = simulate(make("1f1b", row.stages, row.micros), costs, row.transfer).timeline;
    double longest = 0;
    for (const std::vector<cost::Span> &spans : timeline.spans)
      longest = std::max(longest, spans.back().end - spans.front().begin);
    double work = row.micros * (row.forward + row.backward + row.weight);
    EXPECT_NEAR((longest - work) / longest, row.rate, 1e-4);
  }
}

} // namespace npar::schedules
