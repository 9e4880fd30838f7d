// One wrong schedule per reason that the validator knows.
#include "compiler/schedules/Validate.h"

#include <gtest/gtest.h>

namespace npar::schedules {

const Task F0{Phase::F, 0}, F1{Phase::F, 1}, B0{Phase::B, 0}, B1{Phase::B, 1}, W0{Phase::W, 0};

std::string reasons(const TaskLists &lists, int micros) {
  std::string text;
  Schedule schedule{"", micros, 1, loopPlacement(lists.size(), 1), lists};
  for (const ScheduleError &error : validate(schedule))
    text += std::to_string(error.stage) + ":" + std::to_string(error.place) + ": " + error.reason + "\n";
  return text;
}

TEST(Validate, AcceptsWhatRuns) { EXPECT_EQ(reasons({{F0, F1, B0, B1}, {F0, B0, F1, B1}}, 2), ""); }

TEST(Validate, NamesMissingTasks) {
  EXPECT_EQ(reasons({{F0, F1, B0}}, 2), "0:3: 'B1' is missing\n");
  EXPECT_EQ(reasons({{F0, B0, W0}, {F0, B0}}, 1), ""); // the second stage does not split its backward
  EXPECT_EQ(reasons({{}}, 1), "0:0: 'F0' is missing\n0:0: 'B0' is missing\n");
}

TEST(Validate, NamesDoubledTasks) { EXPECT_EQ(reasons({{F0, F0, B0}}, 1), "0:1: 'F0' appears twice\n"); }

TEST(Validate, NamesTasksOfNoMicroBatch) {
  EXPECT_EQ(reasons({{F0, B0, B1}}, 1), "0:2: 'B1' is for no micro-batch: there are 1, counted from 0\n");
}

TEST(Validate, RefusesBackwardsInAnotherOrder) {
  EXPECT_EQ(reasons({{F0, F1, B1, B0}}, 2), "0:3: 'B0' comes after 'B1': gradients must accumulate in ascending order of micro-batches\n");
}

TEST(Validate, FindsTasksThatNeverStart) {
  EXPECT_EQ(reasons({{B0, F0}}, 1), "0:0: 'B0' never starts: what it needs is ordered behind it\n");
  // Stage 0 wants B0 of stage 1 before it sends F1, stage 1 wants F1 before it runs B0.
  EXPECT_EQ(reasons({{F0, B0, F1, B1}, {F0, F1, B0, B1}}, 2), "0:1: 'B0' never starts: what it needs is ordered behind it\n"
                                                              "1:1: 'F1' never starts: what it needs is ordered behind it\n");
}

} // namespace npar::schedules
