// A pipeline schedule is data: for each stage the order of its compute tasks. Transfers follow from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npar::schedules {

/// W is the weight part of a backward that a schedule splits; B is then its input part.
enum class Phase { F, B, W };

struct Task {
  Phase phase = Phase::F;
  int micro = 0;
  int chunk = 0; ///< of the stage's chunks, ascending along the chain

  bool operator==(const Task &other) const { return phase == other.phase && micro == other.micro && chunk == other.chunk; }
};

/// Per stage, its tasks in order.
using TaskLists = std::vector<std::vector<Task>>;

TaskLists gpipe(int stages, int micros);
TaskLists oneFOneB(int stages, int micros);

/// A schedule as plans name it (`h -> pp by 1f1b`).
struct ScheduleKind {
  const char *name;
  TaskLists (*make)(int stages, int micros);
};

/// All schedules, in order of publication. A new one is a function in its own file and a line here.
const std::vector<ScheduleKind> &scheduleKinds();

/// Null when there is none of that name.
const ScheduleKind *findSchedule(std::string_view name);

/// One line per stage, such as `F0 F1 B0 B1`; chunks behind a dot where there are several (`F0.1`).
std::string print(const TaskLists &lists);

char letter(Phase phase);

} // namespace npar::schedules
