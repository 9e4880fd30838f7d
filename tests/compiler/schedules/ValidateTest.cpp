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
  EXPECT_EQ(reasons({{B0, F0}}, 1), "0:0: 'B0' never starts: it waits for 'F0', which is ordered after it\n");
  // Stage 0 wants B0 of stage 1 before it sends F1, stage 1 wants F1 before it runs B0.
  EXPECT_EQ(reasons({{F0, B0, F1, B1}, {F0, F1, B0, B1}}, 2),
            "0:1: 'B0' never starts: it waits for 'B0' of stage 1, which is ordered after 'F1'; 'F1' waits for 'F1' of stage 0, which is "
            "ordered after 'B0'\n");
}

// Stages 0 and 1 only wait for the cycle between 2 and 3: it alone is reported.
TEST(Validate, NamesTheCycleAndNotWhoWaitsForIt) {
  std::vector<Task> good{F0, F1, B0, B1};
  EXPECT_EQ(reasons({good, good, {F0, B0, F1, B1}, {F1, F0, B0, B1}}, 2),
            "2:1: 'B0' never starts: it waits for 'B0' of stage 3, which is ordered after 'F1'; 'F1' waits for 'F1' of stage 2, which is "
            "ordered after 'B0'\n");
}

TEST(Validate, NamesEveryLinkOfALongCycle) {
  const Task a{Phase::F, 0, 0}, b{Phase::F, 0, 1}, c{Phase::B, 0, 1}, d{Phase::B, 0, 0};
  std::vector<ScheduleError> errors = validate({"", 1, 2, loopPlacement(3, 2), {{a, b, c, d}, {b, a, c, d}, {a, b, c, d}}});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].reason, "'F0.1' never starts: it waits for 'F0.0' of stage 2; 'F0.0' waits for 'F0.0' of stage 1, which is ordered "
                              "after 'F0.1'; 'F0.1' waits for 'F0.1' of stage 0");
}

TEST(Validate, NamesTasksAsAsked) {
  Schedule schedule{"", 1, 1, loopPlacement(1, 1), {{B0, F0}}};
  EXPECT_EQ(validate(schedule, [](int stage, const Task &task) { return "s" + std::to_string(stage) + letter(task.phase); })[0].reason,
            "'s0B' never starts: it waits for 's0F', which is ordered after it");
}

TEST(Validate, RefusesPlacementsThatDoNotFit) {
  EXPECT_EQ(validate({"", 1, 1, {0, 2}, TaskLists(2)})[0].reason, "a part of the chain is on stage 2: there are 2");
  EXPECT_EQ(validate({"", 1, 1, {0, 0}, TaskLists(2)})[1].reason, "holds 0 parts of the chain, not 1");
  EXPECT_EQ(validate({"", 1, 1, {}, {}})[0].reason, "there is no stage");
  EXPECT_EQ(validate({"", 1, 1, {0}, {{F0, B0, {Phase::W, 0, 1}}}})[0].reason, "'W0.1' is for no chunk: there are 1, counted from 0");
}

TEST(Validate, StopsAtAHundredErrors) { EXPECT_EQ(validate({"", 1'000'000, 1, {0}, {{}}}).size(), 100u); }

} // namespace npar::schedules
