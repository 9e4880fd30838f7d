// The checks RULES.md#S0 to S3 of a schedule.
#include "compiler/schedules/Validate.h"

#include "compiler/schedules/Progress.h"

#include <map>
#include <set>
#include <tuple>

namespace npar::schedules {

namespace {

std::string count(int number, const std::string &word) { return std::to_string(number) + " " + word + (number == 1 ? "" : "s"); }

class Validation {
public:
  Validation(const Schedule &schedule, const TaskName &taskName)
      : schedule(schedule), lists(schedule.lists), micros(schedule.micros), chunks(schedule.chunks), taskName(taskName) {}

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
  bool full() const { return errors.size() >= mostScheduleErrors; }

  std::string name(int stage, const Task &task) const {
    if (taskName)
      return "'" + taskName(stage, task) + "'";
    std::string text = letter(task.phase) + std::to_string(task.micro);
    return "'" + (chunks > 1 ? text + "." + std::to_string(task.chunk) : text) + "'";
  }

  void checkPlacement() {
    if (lists.empty())
      errors.push_back({0, 0, "there is no stage"});
    std::vector<int> parts(lists.size(), 0);
    for (int stage : schedule.placement) {
      if (stage < 0 || stage >= schedule.stages()) {
        errors.push_back(
            {0, 0, "a part of the chain is on stage " + std::to_string(stage) + ": there are " + std::to_string(lists.size())});
        return;
      }
      ++parts[stage];
    }
    for (size_t stage = 0; stage < lists.size() && !full(); ++stage)
      if (parts[stage] != chunks)
        errors.push_back(
            {static_cast<int>(stage), 0, "holds " + count(parts[stage], "part") + " of the chain, not " + std::to_string(chunks)});
  }

  void checkOnce(int stage) {
    std::map<std::tuple<int, Phase, int>, int> seen; // chunk, phase, micro-batch
    const std::vector<Task> &tasks = lists[stage];
    for (size_t place = 0; place < tasks.size() && !full(); ++place) {
      const Task &task = tasks[place];
      int at = static_cast<int>(place);
      if (task.chunk < 0 || task.chunk >= chunks)
        errors.push_back({stage, at,
                          "'" + (letter(task.phase) + std::to_string(task.micro)) + "." + std::to_string(task.chunk) +
                              "' is for no chunk: there are " + std::to_string(chunks) + ", counted from 0"});
      else if (task.micro < 0 || task.micro >= micros)
        errors.push_back(
            {stage, at, name(stage, task) + " is for no micro-batch: there are " + std::to_string(micros) + ", counted from 0"});
      else if (!seen.emplace(std::tuple(task.chunk, task.phase, task.micro), place).second)
        errors.push_back({stage, at, name(stage, task) + " appears twice"});
    }
    for (int chunk = 0; chunk < chunks; ++chunk)
      for (Phase phase : {Phase::F, Phase::B})
        for (int micro = 0; micro < micros && !full(); ++micro)
          if (!seen.count({chunk, phase, micro}))
            errors.push_back({stage, static_cast<int>(tasks.size()), name(stage, {phase, micro, chunk}) + " is missing"});
  }

  void checkAscending(int stage) {
    std::set<std::pair<int, int>> split; // chunk, micro-batch
    for (const Task &task : lists[stage])
      if (task.phase == Phase::W)
        split.emplace(task.chunk, task.micro);
    std::map<int, Task> previous; // by chunk
    for (size_t place = 0; place < lists[stage].size() && !full(); ++place) {
      const Task &task = lists[stage][place];
      if (task.phase == Phase::F || (task.phase == Phase::B && split.count({task.chunk, task.micro})))
        continue;
      auto [before, first] = previous.emplace(task.chunk, task);
      if (!first && before->second.micro > task.micro)
        errors.push_back({stage, static_cast<int>(place),
                          name(stage, task) + " comes after " + name(stage, before->second) +
                              ": gradients must accumulate in ascending order of micro-batches"});
      before->second = task;
    }
  }

  void checkProgress() {
    for (const Cycle &cycle : findCycles(schedule)) {
      if (full())
        return;
      std::string text;
      for (size_t i = 0; i < cycle.size() && i < mostCycleLinks; ++i) {
        const Wait &wait = cycle[i];
        const Task &task = lists[wait.stage][wait.place];
        text += i == 0 ? name(wait.stage, task) + " never starts: it" : "; " + name(wait.stage, task);
        text += " waits for " + name(wait.need.stage, wait.need.task);
        if (wait.need.stage == wait.stage) {
          text += ", which is ordered after it";
          break;
        }
        text += " of stage " + std::to_string(wait.need.stage);
        const Wait &next = cycle[(i + 1) % cycle.size()];
        if (const Task &head = lists[next.stage][next.place]; !(head == wait.need.task))
          text += ", which is ordered after " + name(next.stage, head);
      }
      if (cycle.size() > mostCycleLinks)
        text += "; and so on, over " + std::to_string(cycle.size()) + " stages";
      errors.push_back({cycle[0].stage, cycle[0].place, text});
    }
  }

  const Schedule &schedule;
  const TaskLists &lists;
  int micros, chunks;
  const TaskName &taskName;
  std::vector<ScheduleError> errors;
};

} // namespace

std::vector<ScheduleError> validate(const Schedule &schedule, const TaskName &name) { return Validation(schedule, name).run(); }

} // namespace npar::schedules
