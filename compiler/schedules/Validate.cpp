// The checks S1 to S3 of a schedule.
#include "compiler/schedules/Validate.h"

#include "compiler/schedules/Simulate.h"

#include <algorithm>
#include <map>
#include <set>
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
  explicit Validation(const Schedule &schedule)
      : schedule(schedule), lists(schedule.lists), micros(schedule.micros), chunks(schedule.chunks) {}

  std::vector<ScheduleError> run() {
    checkPlacement();
    if (!errors.empty())
      return std::move(errors);
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

  void checkPlacement() {
    std::vector<int> parts(lists.size(), 0);
    for (int stage : schedule.placement) {
      if (stage < 0 || stage >= schedule.stages()) {
        errors.push_back(
            {0, 0, "a part of the chain is on stage " + std::to_string(stage) + ": there are " + std::to_string(lists.size())});
        return;
      }
      ++parts[stage];
    }
    for (size_t stage = 0; stage < lists.size(); ++stage)
      if (parts[stage] != chunks)
        errors.push_back(
            {static_cast<int>(stage), 0, "holds " + std::to_string(parts[stage]) + " parts of the chain, not " + std::to_string(chunks)});
  }

  void checkOnce(int stage) {
    std::map<Key, int> seen;
    const std::vector<Task> &tasks = lists[stage];
    for (size_t place = 0; place < tasks.size(); ++place) {
      const Task &task = tasks[place];
      int at = static_cast<int>(place);
      if (task.micro < 0 || task.micro >= micros)
        errors.push_back({stage, at, name(task) + " is for no micro-batch: there are " + std::to_string(micros) + ", counted from 0"});
      else if (task.chunk < 0 || task.chunk >= chunks)
        errors.push_back({stage, at, name(task) + " is for no chunk: there are " + std::to_string(chunks) + ", counted from 0"});
      else if (!seen.emplace(Key{task.chunk, task.phase, task.micro}, place).second)
        errors.push_back({stage, at, name(task) + " appears twice"});
    }
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (Phase phase : {Phase::F, Phase::B})
        for (int micro = 0; micro < micros; ++micro)
          if (!seen.count({chunk, phase, micro}))
            errors.push_back({stage, static_cast<int>(tasks.size()), schedules::name(phase, micro, chunk, chunks) + " is missing"});
  }

  void checkAscending(int stage) {
    std::set<std::pair<int, int>> split; // chunk, micro-batch
    for (const Task &task : lists[stage])
      if (task.phase == Phase::W)
        split.emplace(task.chunk, task.micro);
    std::map<int, Task> previous; // by chunk
    for (size_t place = 0; place < lists[stage].size(); ++place) {
      const Task &task = lists[stage][place];
      if (task.phase == Phase::F || (task.phase == Phase::B && split.count({task.chunk, task.micro})))
        continue;
      auto [before, first] = previous.emplace(task.chunk, task);
      if (!first && before->second.micro > task.micro)
        errors.push_back(
            {stage, static_cast<int>(place),
             name(task) + " comes after " + name(before->second) + ": gradients must accumulate in ascending order of micro-batches"});
      before->second = task;
    }
  }

  void checkProgress() {
    Simulation simulation = simulate(schedule, std::vector<StageCost>(lists.size()));
    if (simulation.timeline.complete)
      return;
    for (size_t stage = 0; stage < lists.size(); ++stage) {
      size_t place = simulation.timeline.stuck[stage];
      if (place < lists[stage].size())
        errors.push_back({static_cast<int>(stage), static_cast<int>(place),
                          name(lists[stage][place]) + " never starts: what it needs is ordered behind it"});
    }
  }

  const Schedule &schedule;
  const TaskLists &lists;
  int micros, chunks;
  std::vector<ScheduleError> errors;
};

} // namespace

std::vector<ScheduleError> validate(const Schedule &schedule) { return Validation(schedule).run(); }

} // namespace npar::schedules
