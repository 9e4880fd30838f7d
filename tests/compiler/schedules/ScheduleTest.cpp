// The orders that the drawings in the schedules' sources show, and the registry.
#include "compiler/schedules/Schedule.h"

#include <gtest/gtest.h>

namespace npar::schedules {

static TaskLists lists(const char *name, int stages, int micros) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  return makeSchedule(*findSchedule(name), request).schedule.lists;
}

TEST(Schedule, GPipeRunsBackwardsInAscendingOrder) {
  EXPECT_EQ(print(lists("gpipe", 2, 3)), "F0 F1 F2 B0 B1 B2\n"
                                         "F0 F1 F2 B0 B1 B2\n");
}

TEST(Schedule, OneFOneBAlternatesAfterTheWarmup) {
  EXPECT_EQ(print(lists("1f1b", 4, 6)), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5\n"
                                        "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
                                        "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5\n"
                                        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
}

TEST(Schedule, OneFOneBWithFewerMicrosThanStages) { EXPECT_EQ(print(lists("1f1b", 4, 1)), "F0 B0\nF0 B0\nF0 B0\nF0 B0\n"); }

TEST(Schedule, PrintsChunksOnlyWhereThereAreSeveral) {
  EXPECT_EQ(print({{{Phase::F, 0, 0}, {Phase::F, 0, 1}, {Phase::W, 0, 1}}}), "F0.0 F0.1 W0.1\n");
}

TEST(Schedule, FindsByName) {
  EXPECT_STREQ(findSchedule("1f1b")->name, "1f1b");
  EXPECT_STREQ(findSchedule("gpipe")->name, "gpipe");
  EXPECT_EQ(findSchedule("2f2b"), nullptr);
}

TEST(Schedule, RefusesWhatAKindCannotMake) {
  Request request;
  request.chunks = 2;
  EXPECT_EQ(makeSchedule(*findSchedule("1f1b"), request).refusal, "schedule '1f1b' has 1 chunk per stage, not 2");
  request.chunks = 0;
  request.micros = 0;
  EXPECT_EQ(makeSchedule(*findSchedule("1f1b"), request).refusal,
            "schedule '1f1b' needs at least one stage and one micro-batch, not 1 and 0");
}

TEST(Schedule, PlacesPartsInALoopOrAV) {
  EXPECT_EQ(loopPlacement(3, 2), (Placement{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(vPlacement(3), (Placement{0, 1, 2, 2, 1, 0}));
  Schedule schedule{"", 1, 2, vPlacement(3), TaskLists(3)};
  EXPECT_EQ(schedule.place(0, 1), 5);
  EXPECT_EQ(schedule.place(0, 2), -1);
  EXPECT_EQ(schedule.chunkAt(4), 1);
}

} // namespace npar::schedules
