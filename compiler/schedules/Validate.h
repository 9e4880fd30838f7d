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
///   S0 the placement gives each stage as many parts as there are chunks, and there is a list per stage;
///   S1 each stage has F and B of each micro-batch and chunk once, W at most once, and no other task;
///   S2 gradients accumulate in ascending micro-batch order: what makes them (W, or B where there is no W) ascends in a chunk (N2);
///   S3 no task waits for ever: the tasks run to the end when each waits for those that it needs.
std::vector<ScheduleError> validate(const Schedule &schedule);

} // namespace npar::schedules
