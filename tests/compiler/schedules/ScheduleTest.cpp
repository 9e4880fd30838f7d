// The orders that the drawings in the schedules' sources show, and the registry.
#include "Make.h"

namespace npar::schedules {

static TaskLists lists(const char *name, int stages, int micros) { return make(name, stages, micros).lists; }

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

TEST(Schedule, BackwardFirstGoesByTheCosts) {
  Request request;
  request.stages = 2;
  request.micros = 5;
  auto order = [&] { return print(makeSchedule(*findSchedule("backward_first"), request).schedule.lists); };
  EXPECT_EQ(order(), "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4\n"
                     "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4\n");
  request.memoryCap = 2.9;
  EXPECT_EQ(order(), "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4\n"
                     "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4\n");
  request.memoryCap = 0;
  request.costs = {{1, 1, 1}, {4, 1, 0}}; // the gradient comes late
  EXPECT_EQ(order().substr(0, 15), "F0 F1 F2 F3 F4 ");
  request.costs = {{4, 1, 1}, {1, 0.1, 0.1}}; // two are back when a forward and a backward have ended
  EXPECT_EQ(order().substr(0, 15), "F0 F1 B0 B1 F2 ");
  request.transfer = 5;
  EXPECT_EQ(order().substr(0, 15), "F0 F1 F2 F3 B0 ");
}

// Two groups of two micro-batches; without the fourth, the rest keeps its order.
TEST(Schedule, InterleavedTakesAnyNumberOfMicroBatches) {
  EXPECT_EQ(print(make("interleaved", 2, 4).lists), "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0\n"
                                                    "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0\n");
  EXPECT_EQ(print(make("interleaved", 2, 3).lists), "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 B1.1 F2.1 B0.0 B1.0 B2.1 B2.0\n"
                                                    "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 B1.0 F2.1 B2.1 B2.0\n");
}

TEST(Schedule, DualPipeVSplitsBackwardsOnlyWhereAStageWouldWait) {
  EXPECT_EQ(print(make("dualpipe_v", 2, 4).lists),
            "F0.0 F1.0 F2.0 F0.1 B0.1 W0.1 F1.1 F3.0 B1.1 F2.1 B0.0 B2.1 F3.1 B1.0 B3.1 B2.0 W2.0 B3.0 W3.0\n"
            "F0.0 F0.1 F1.0 F1.1 F2.0 B0.1 F2.1 B0.0 F3.0 B1.1 F3.1 B1.0 B2.1 B2.0 B3.1 B3.0 W3.1 W3.0\n");
}

TEST(Schedule, PrintsChunksOnlyWhereThereAreSeveral) {
  EXPECT_EQ(print({{{Phase::F, 0, 0}, {Phase::F, 0, 1}, {Phase::W, 0, 1}}}), "F0.0 F0.1 W0.1\n");
}

TEST(Schedule, FindsByName) {
  for (const ScheduleKind &kind : scheduleKinds())
    EXPECT_EQ(findSchedule(kind.name), &kind);
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
  request.micros = 1;
  request.chunks = -1;
  EXPECT_EQ(makeSchedule(*findSchedule("interleaved"), request).refusal,
            "schedule 'interleaved' needs at least one chunk per stage, not -1");
  request.chunks = 0;
  request.stages = 4;
  request.micros = 7;
  EXPECT_EQ(makeSchedule(*findSchedule("dualpipe_v"), request).refusal,
            "schedule 'dualpipe_v' needs at least 8 micro-batches for 4 stages, not 7");
  request.memoryCap = 0.5;
  EXPECT_EQ(makeSchedule(*findSchedule("backward_first"), request).refusal,
            "schedule 'backward_first' needs a memory cap of at least 1 forward activation, not 0.5");
  EXPECT_EQ(makeSchedule(*findSchedule("1f1b"), request).refusal, ""); // it holds what it holds
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
