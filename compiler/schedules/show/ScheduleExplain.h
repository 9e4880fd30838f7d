// Explains the bubble of a schedule: its place, the dependency that causes it, and changes that would reduce it.
#pragma once

#include "compiler/schedules/show/TimedSchedule.h"
#include "engine/json/JsonForward.h"

#include <string>
#include <vector>

namespace npar::schedules {

/// Waiting of one stage, in units of time; the three parts add up to `idle`, and so do the causes with `done`.
struct StageWait {
  double busy = 0, idle = 0;
  /// Before its first backward begins and its last forward ends, whichever is earlier; between the two; after both.
  double warmUp = 0, steady = 0, drain = 0;
  double forward = 0;                      ///< for forwards of other stages
  double backward = 0;                     ///< for backwards of other stages
  double message = 0;                      ///< for messages that are under way
  double done = 0;                         ///< nothing left to do
  int forwardFrom = -1, backwardFrom = -1; ///< the stage waited for longest; -1: none
};

/// A task on the critical path: it begins when the one before it ends, or that one's message arrives.
struct CriticalTask {
  int stage = 0, place = 0;
  bool message = false; ///< reached from the task before by a message
};

struct ScheduleExplanation {
  std::vector<StageWait> stages;
  std::vector<CriticalTask> path; ///< in order of time; its tasks and messages take the whole makespan
  double pathPhases[3] = {};      ///< time of F, B, W on the path
  double pathMessages = 0;
  std::vector<std::string> advice;
};

/// `schedule` must have `times`. For its advice, it makes other schedules for the same stages, micro-batches and costs. If there are too
/// many tasks to do that quickly, the advice is that no other schedule was tried.
ScheduleExplanation explain(const TimedSchedule &schedule);

std::string explanationText(const TimedSchedule &schedule, const ScheduleExplanation &explanation);
OrderedJson explanationJson(const TimedSchedule &schedule, const ScheduleExplanation &explanation);

} // namespace npar::schedules
