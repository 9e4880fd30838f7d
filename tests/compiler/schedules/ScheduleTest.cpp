// The orders that the drawings in the schedules' sources show, and the registry.
#include "compiler/schedules/Schedule.h"

#include <gtest/gtest.h>

namespace npar::schedules {

TEST(Schedule, GPipeRunsBackwardsInAscendingOrder) {
  EXPECT_EQ(print(gpipe(2, 3)), "F0 F1 F2 B0 B1 B2\n"
                                "F0 F1 F2 B0 B1 B2\n");
}

TEST(Schedule, OneFOneBAlternatesAfterTheWarmup) {
  EXPECT_EQ(print(oneFOneB(4, 6)), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5\n"
                                   "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5\n"
                                   "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5\n"
                                   "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5\n");
}

TEST(Schedule, OneFOneBWithFewerMicrosThanStages) {
  EXPECT_EQ(print(oneFOneB(4, 1)), "F0 B0\nF0 B0\nF0 B0\nF0 B0\n");
}

TEST(Schedule, PrintsChunksOnlyWhereThereAreSeveral) {
  EXPECT_EQ(print({{{Phase::F, 0, 0}, {Phase::F, 0, 1}, {Phase::W, 0, 1}}}), "F0.0 F0.1 W0.1\n");
}

TEST(Schedule, FindsByName) {
  ASSERT_NE(findSchedule("1f1b"), nullptr);
  EXPECT_EQ(findSchedule("1f1b")->make(2, 2), oneFOneB(2, 2));
  EXPECT_EQ(findSchedule("gpipe")->make(2, 2), gpipe(2, 2));
  EXPECT_EQ(findSchedule("2f2b"), nullptr);
}

} // namespace npar::schedules
