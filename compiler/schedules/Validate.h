// Says whether a schedule can run and keeps the order of gradients, with every reason if not.
#pragma once

#include "compiler/schedules/Schedule.h"

#include <string>
#include <vector>

namespace npar::schedules {

struct ScheduleError {
  int stage = 0;
  int place = 0; ///< in the stage's list; its length when a task is missing
  std::string reason;
};

/// Empty when
///   S1 each stage has each task (F, B, and W if any stage has one, for each micro-batch and chunk) once, and no other;
///   S2 gradients accumulate in ascending micro-batch order: the B (or W) tasks of a chunk ascend (N2);
///   S3 no task waits for ever: the tasks run to the end when each waits for those that it needs.
std::vector<ScheduleError> validate(const TaskLists &lists, int micros);

} // namespace npar::schedules
