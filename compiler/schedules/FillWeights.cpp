// Runs the forwards and backwards of a schedule in their order, stage by stage as events make them ready, and lets W fill the gaps
// (the filling rule of Qi et al. 2023, section 3.1, for any placement).
#include "compiler/schedules/FillWeights.h"

#include "compiler/schedules/StageClock.h"

#include <algorithm>
#include <limits>

namespace npar::schedules {

namespace {

constexpr double rounding = 1e-9; ///< relative error of sums of times, at most

double scoreOf(double cost, double spans, size_t stages) { return cost + 0.03 * spans / static_cast<double>(stages); }

class Filling {
public:
  Filling(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules, double most)
      : schedule(schedule), costs(costs), rules(rules), most(most * (1 + rounding)),
        clock(schedule.placement, schedule.chunks, schedule.micros, costs, transfer), stages(schedule.stages()), lists(schedule.stages()) {
    for (size_t stage = 0; stage < stages.size(); ++stage)
      addToSpan(static_cast<int>(stage), schedule.micros * (costs[stage].forward + costs[stage].backward + costs[stage].weight));
  }

  Filled run() {
    size_t all = 3ul * schedule.chunks * schedule.micros;
    for (std::vector<Task> &list : lists)
      list.reserve(all);
    clock.run([this](int stage, double time) { decide(stage, time); });
    Filled result;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (lists[stage].size() < all)
        return {};
      double span = clock.free(stage) - stages[stage].begin;
      result.cost = std::max(result.cost, span);
      result.spans += span;
    }
    result.lists = std::move(lists);
    return result;
  }

private:
  struct Stage {
    size_t next = 0;           ///< place in the schedule's list of the next forward or backward
    std::vector<Task> waiting; ///< W of the backwards that ran, in the order of these
    size_t weights = 0;        ///< number of W that have run
    int held = 0;
    double begin = 0; ///< start of its first task
    double span = 0;  ///< least time from that to the end of its last task: all its work, and the waits so far
  };

  /// Starts the next task of a stage if one can start; otherwise the arrival of its input calls this again.
  void decide(int index, double time) {
    if (isTooLong()) // no task starts any more, and so the clock ends
      return;
    Stage &stage = stages[index];
    const std::vector<Task> &tasks = schedule.lists[index];
    while (stage.next < tasks.size() && tasks[stage.next].phase == Phase::W)
      ++stage.next;
    double soon = std::numeric_limits<double>::infinity();
    if (stage.next < tasks.size()) {
      const Task &task = tasks[stage.next];
      if (task.phase == Phase::B || stage.held < rules[index].limit)
        soon = clock.arrival(clock.place(index, task.chunk), task.phase, task.micro);
      if (clock.reached(soon, time)) {
        ++stage.next;
        return start(index, task, time);
      }
    }
    if (stage.weights < stage.waiting.size() && soon >= time + rules[index].patience * costs[index].weight / schedule.chunks)
      start(index, stage.waiting[stage.weights++], time);
  }

  void addToSpan(int index, double time) {
    stages[index].span += time;
    least.cost = std::max(least.cost, stages[index].span);
    least.spans += time;
  }
  bool isTooLong() const { return scoreOf(least.cost, least.spans, stages.size()) > most; }

  void start(int index, const Task &task, double time) {
    Stage &stage = stages[index];
    if (lists[index].empty())
      stage.begin = time;
    else
      addToSpan(index, time - clock.free(index));
    lists[index].push_back(task);
    if (task.phase == Phase::F)
      ++stage.held;
    else if (task.phase == Phase::W)
      --stage.held;
    else
      stage.waiting.push_back({Phase::W, task.micro, task.chunk});
    clock.start(clock.place(index, task.chunk), task.phase, task.micro, time);
  }

  const Schedule &schedule;
  const std::vector<StageCost> &costs;
  const std::vector<WeightRule> &rules;
  const double most;
  StageClock clock;
  std::vector<Stage> stages;
  TaskLists lists;
  Filled least; ///< bounds of the result's times
};

} // namespace

double score(const Filled &filled) { return scoreOf(filled.cost, filled.spans, filled.lists.size()); }

Filled fillWeights(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules,
                   double most) {
  return Filling(schedule, costs, transfer, rules, most).run();
}

TaskLists fillWeights(const Schedule &schedule, int limit) {
  size_t stages = schedule.lists.size();
  return fillWeights(schedule, std::vector<StageCost>(stages), 0, std::vector<WeightRule>(stages, {limit, 0})).lists;
}

} // namespace npar::schedules
