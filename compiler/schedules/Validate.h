// Says whether a schedule can run and keeps the order of gradients, with every reason if not.
#pragma once

#include "compiler/schedules/Schedule.h"

#include <functional>
#include <string>
#include <vector>

namespace npar::schedules {

struct ScheduleError {
  int stage = 0;
  int place = 0; ///< index in the stage's list; the list's length if a task is missing
  std::string reason;
};

/// Returns the name of a task of a stage in messages, such as `F0.1`.
using TaskName = std::function<std::string(int stage, const Task &task)>;

/// Empty when (RULES.md#S0 to S3)
///   S0 the placement gives each stage as many parts as there are chunks, and there is a list per stage;
///   S1 each stage has F and B of each micro-batch and chunk once, W at most once, and no other task;
///   S2 gradients accumulate in ascending micro-batch order (RULES.md#N2): the tasks that make them (W, or B without a W) ascend in a
///      chunk;
///   S3 no task waits for ever: the tasks run to the end when each waits for those that it needs. One error per cycle of waiting, at its
///      task of the lowest stage, with every link; what merely waits for a cycle is not reported.
/// At most about 100 errors. Time grows with the number of tasks. Without `name`, tasks are called as `print` calls them.
std::vector<ScheduleError> validate(const Schedule &schedule, const TaskName &name = nullptr);

} // namespace npar::schedules
