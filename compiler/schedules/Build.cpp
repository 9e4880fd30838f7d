// Building blocks of several schedules.
#include "compiler/schedules/Build.h"

#include <algorithm>

namespace npar::schedules {

Schedule keepFirst(Schedule schedule, int micros) {
  for (std::vector<Task> &tasks : schedule.lists)
    tasks.erase(std::remove_if(tasks.begin(), tasks.end(), [&](const Task &task) { return task.micro >= micros; }), tasks.end());
  schedule.micros = micros;
  return schedule;
}

std::vector<Task> delayWeights(int micros, int forwards, int delay) {
  std::vector<Task> tasks;
  for (int micro = 0; micro < std::min(forwards, micros); ++micro)
    tasks.push_back({Phase::F, micro});
  for (int micro = 0; micro < micros + delay; ++micro) {
    if (micro < micros)
      tasks.push_back({Phase::B, micro});
    if (micro >= delay && micro - delay < micros)
      tasks.push_back({Phase::W, micro - delay});
    if (forwards + micro < micros)
      tasks.push_back({Phase::F, forwards + micro});
  }
  return tasks;
}

double fillingWaits(double way, double micros) { return std::max(0.0, (way - micros) / 3); }

} // namespace npar::schedules
