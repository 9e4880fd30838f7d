// Runs the tasks of each stage up to the first whose need has not run. Whenever a stage advances, it wakes the stages that wait for it.
#include "compiler/schedules/Progress.h"

#include <algorithm>
#include <utility>

namespace npar::schedules {

namespace {

class Progress {
public:
  explicit Progress(const Schedule &schedule)
      : schedule(schedule), needs(schedule), next(schedule.stages(), 0), asleep(schedule.stages()),
        done(schedule.stages(), std::vector<bool>(size_t{3} * schedule.chunks * schedule.micros)) {}

  std::vector<Cycle> run() {
    std::vector<int> ready;
    for (int stage = schedule.stages() - 1; stage >= 0; --stage)
      ready.push_back(stage);
    while (!ready.empty()) {
      int stage = ready.back(), before = next[stage];
      ready.pop_back();
      advance(stage);
      if (next[stage] == before)
        continue;
      std::vector<int> woken = std::exchange(asleep[stage], {});
      ready.insert(ready.end(), woken.begin(), woken.end());
    }
    return cycles();
  }

private:
  std::vector<bool>::reference ran(int stage, const Task &task) {
    return done[stage][(size_t{3} * task.chunk + static_cast<int>(task.phase)) * schedule.micros + task.micro];
  }

  /// A need of the stage's next task that has not run; null if the task can run.
  const Need *missing(int stage) {
    for (const Need &need : needs.of(stage, schedule.lists[stage][next[stage]]))
      if (!ran(need.stage, need.task))
        return &(found = need);
    return nullptr;
  }

  void advance(int stage) {
    for (const std::vector<Task> &tasks = schedule.lists[stage]; next[stage] < static_cast<int>(tasks.size()); ++next[stage]) {
      if (const Need *need = missing(stage)) {
        if (need->stage != stage)
          asleep[need->stage].push_back(stage);
        return;
      }
      ran(stage, tasks[next[stage]]) = true;
    }
  }

  /// Walks from every stuck stage to the one that it waits for, until a stage repeats: that is a cycle, unless an earlier walk was there.
  std::vector<Cycle> cycles() {
    std::vector<Cycle> result;
    std::vector<int> walk(schedule.stages(), -1); // the walk that visited a stage
    for (int start = 0; start < schedule.stages(); ++start) {
      Cycle path;
      int stage = start;
      while (next[stage] < static_cast<int>(schedule.lists[stage].size()) && walk[stage] < 0) {
        walk[stage] = start;
        path.push_back({stage, next[stage], *missing(stage)});
        stage = path.back().need.stage;
      }
      if (path.empty() || walk[stage] != start)
        continue;
      path.erase(path.begin(), std::find_if(path.begin(), path.end(), [&](const Wait &wait) { return wait.stage == stage; }));
      auto lowest = std::min_element(path.begin(), path.end(), [](const Wait &a, const Wait &b) { return a.stage < b.stage; });
      std::rotate(path.begin(), lowest, path.end());
      result.push_back(std::move(path));
    }
    std::sort(result.begin(), result.end(), [](const Cycle &a, const Cycle &b) { return a[0].stage < b[0].stage; });
    return result;
  }

  const Schedule &schedule;
  Needs needs;
  Need found;
  std::vector<int> next;                ///< per stage: its first task that has not run
  std::vector<std::vector<int>> asleep; ///< per stage: those that wait for it
  std::vector<std::vector<bool>> done;  ///< per stage: its tasks that ran, by chunk, phase and micro-batch
};

} // namespace

std::vector<Cycle> findCycles(const Schedule &schedule) { return Progress(schedule).run(); }

} // namespace npar::schedules
