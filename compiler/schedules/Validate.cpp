// The checks S1 to S3 of a schedule.
#include "compiler/schedules/Validate.h"

#include "compiler/schedules/Simulate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace npar::schedules {

namespace {

using Key = std::tuple<int, Phase, int>; ///< chunk, phase, micro-batch

std::string name(Phase phase, int micro, int chunk, int chunks) {
  std::string text = letter(phase) + std::to_string(micro);
  return "'" + (chunks > 1 ? text + "." + std::to_string(chunk) : text) + "'";
}

class Validation {
public:
  Validation(const TaskLists &lists, int micros) : lists(lists), micros(micros) {
    for (const std::vector<Task> &tasks : lists)
      for (const Task &task : tasks) {
        chunks = std::max(chunks, task.chunk + 1);
        split |= task.phase == Phase::W;
      }
  }

  std::vector<ScheduleError> run() {
    for (size_t stage = 0; stage < lists.size(); ++stage) {
      checkOnce(stage);
      checkAscending(stage);
    }
    if (errors.empty())
      checkProgress();
    return std::move(errors);
  }

private:
  std::string name(const Task &task) const { return schedules::name(task.phase, task.micro, task.chunk, chunks); }

  void checkOnce(int stage) {
    std::map<Key, int> seen;
    const std::vector<Task> &tasks = lists[stage];
    for (size_t place = 0; place < tasks.size(); ++place) {
      const Task &task = tasks[place];
      if (task.micro < 0 || task.micro >= micros || task.chunk < 0)
        errors.push_back({stage, static_cast<int>(place),
                          name(task) + " is for no micro-batch: there are " + std::to_string(micros) + ", counted from 0"});
      else if (!seen.emplace(Key{task.chunk, task.phase, task.micro}, place).second)
        errors.push_back({stage, static_cast<int>(place), name(task) + " appears twice"});
    }
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (Phase phase : {Phase::F, Phase::B, Phase::W})
        for (int micro = 0; micro < micros && (phase != Phase::W || split); ++micro)
          if (!seen.count({chunk, phase, micro}))
            errors.push_back({stage, static_cast<int>(tasks.size()), schedules::name(phase, micro, chunk, chunks) + " is missing"});
  }

  void checkAscending(int stage) {
    std::map<int, Task> previous; // by chunk
    for (size_t place = 0; place < lists[stage].size(); ++place) {
      const Task &task = lists[stage][place];
      if (task.phase != (split ? Phase::W : Phase::B))
        continue;
      auto [before, first] = previous.emplace(task.chunk, task);
      if (!first && before->second.micro > task.micro)
        errors.push_back({stage, static_cast<int>(place),
                          name(task) + " comes after " + name(before->second) +
                              ": gradients must accumulate in ascending order of micro-batches"});
      before->second = task;
    }
  }

  void checkProgress() {
    Simulation simulation = simulate(lists, std::vector<StageCost>(lists.size()));
    if (simulation.timeline.complete)
      return;
    for (size_t stage = 0; stage < lists.size(); ++stage) {
      size_t place = simulation.timeline.stuck[stage];
      if (place < lists[stage].size())
        errors.push_back({static_cast<int>(stage), static_cast<int>(place),
                          name(lists[stage][place]) + " never starts: what it needs is ordered behind it"});
    }
  }

  const TaskLists &lists;
  int micros;
  int chunks = 1;
  bool split = false;
  std::vector<ScheduleError> errors;
};

} // namespace

std::vector<ScheduleError> validate(const TaskLists &lists, int micros) { return Validation(lists, micros).run(); }

} // namespace npar::schedules
