// The schedules by the names that plans use, and their text form.
#include "compiler/schedules/Schedule.h"

#include <algorithm>

namespace npar::schedules {

const std::vector<ScheduleKind> &scheduleKinds() {
  static const std::vector<ScheduleKind> kinds = {{"gpipe", gpipe}, {"1f1b", oneFOneB}};
  return kinds;
}

const ScheduleKind *findSchedule(std::string_view name) {
  for (const ScheduleKind &kind : scheduleKinds())
    if (name == kind.name)
      return &kind;
  return nullptr;
}

char letter(Phase phase) { return "FBW"[static_cast<int>(phase)]; }

std::string print(const TaskLists &lists) {
  bool chunks = false;
  for (const std::vector<Task> &tasks : lists)
    chunks |= std::any_of(tasks.begin(), tasks.end(), [](const Task &task) { return task.chunk != 0; });
  std::string text;
  for (const std::vector<Task> &tasks : lists) {
    for (const Task &task : tasks) {
      if (&task != &tasks.front())
        text += ' ';
      text += letter(task.phase) + std::to_string(task.micro);
      if (chunks)
        text += "." + std::to_string(task.chunk);
    }
    text += '\n';
  }
  return text;
}

} // namespace npar::schedules
