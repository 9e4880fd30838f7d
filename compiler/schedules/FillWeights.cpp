// Runs the forwards and backwards of a schedule in their order, stage by stage as events make them ready, and lets W fill the gaps
// (the filling rule of Qi et al. 2023, section 3.1, for any placement).
#include "compiler/schedules/FillWeights.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace npar::schedules {

namespace {

constexpr double notYet = std::numeric_limits<double>::infinity();

class Filling {
public:
  Filling(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules)
      : schedule(schedule), costs(costs), transfer(transfer), rules(rules), chunks(schedule.chunks), micros(schedule.micros),
        stages(schedule.stages()), places(schedule.stages()), forwards(schedule.placement.size() * micros, notYet),
        backwards(schedule.placement.size() * micros, notYet), lists(schedule.stages()) {
    for (size_t place = 0; place < schedule.placement.size(); ++place)
      places[schedule.placement[place]].push_back(place);
    std::fill_n(forwards.begin(), micros, 0);
    for (const StageCost &cost : costs)
      tolerance = std::max(tolerance, 1e-9 * (cost.forward + cost.backward + cost.weight));
  }

  Filled run() {
    size_t all = 3ul * chunks * micros;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      lists[stage].reserve(all);
      events.push({0, static_cast<int>(stage)});
    }
    while (!events.empty()) {
      auto [time, stage] = events.top();
      events.pop();
      if (stages[stage].free <= time)
        decide(stage, time);
    }
    Filled result;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (lists[stage].size() < all)
        return {};
      double span = stages[stage].free - stages[stage].begin;
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
    double begin = 0, free = 0; ///< start of its first task, end of its last
  };
  using Event = std::pair<double, int>; ///< a stage may have something new to start

  size_t instance(int place, int micro) const { return static_cast<size_t>(place) * micros + micro; }

  /// Starts the next task of a stage if one can start; otherwise the arrival of its input calls this again.
  void decide(int index, double time) {
    Stage &stage = stages[index];
    const std::vector<Task> &tasks = schedule.lists[index];
    while (stage.next < tasks.size() && tasks[stage.next].phase == Phase::W)
      ++stage.next;
    double soon = notYet;
    if (stage.next < tasks.size()) {
      const Task &task = tasks[stage.next];
      int place = places[index][task.chunk];
      if (task.phase == Phase::B || stage.held < rules[index].limit)
        soon = (task.phase == Phase::F ? forwards : backwards)[instance(place, task.micro)];
      if (soon <= time + tolerance) {
        ++stage.next;
        return start(index, task, place, time);
      }
    }
    if (stage.weights < stage.waiting.size() && soon >= time + rules[index].patience * costs[index].weight / chunks)
      start(index, stage.waiting[stage.weights++], -1, time);
  }

  void start(int index, const Task &task, int place, double time) {
    Stage &stage = stages[index];
    const StageCost &cost = costs[index];
    if (lists[index].empty())
      stage.begin = time;
    lists[index].push_back(task);
    switch (task.phase) {
    case Phase::F:
      stage.free = time + cost.forward / chunks;
      ++stage.held;
      if (place + 1 == static_cast<int>(schedule.placement.size()))
        backwards[instance(place, task.micro)] = stage.free;
      else
        send(forwards, index, place + 1, task.micro);
      break;
    case Phase::B:
      stage.free = time + cost.backward / chunks;
      stage.waiting.push_back({Phase::W, task.micro, task.chunk});
      if (place > 0)
        send(backwards, index, place - 1, task.micro);
      break;
    case Phase::W:
      stage.free = time + cost.weight / chunks;
      --stage.held;
      break;
    }
    events.push({stage.free, index});
  }

  void send(std::vector<double> &ready, int from, int place, int micro) {
    int to = schedule.placement[place];
    double arrival = stages[from].free + (from == to ? 0 : transfer);
    ready[instance(place, micro)] = arrival;
    events.push({arrival, to});
  }

  const Schedule &schedule;
  const std::vector<StageCost> &costs;
  const double transfer;
  const std::vector<WeightRule> &rules;
  const int chunks, micros;
  double tolerance = 0;
  std::vector<Stage> stages;
  std::vector<std::vector<int>> places;    ///< place in the chain, per stage and chunk
  std::vector<double> forwards, backwards; ///< per place and micro-batch: when the inputs are there
  TaskLists lists;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
};

} // namespace

Filled fillWeights(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules) {
  return Filling(schedule, costs, transfer, rules).run();
}

TaskLists fillWeights(const Schedule &schedule, int limit) {
  size_t stages = schedule.lists.size();
  return fillWeights(schedule, std::vector<StageCost>(stages), 0, std::vector<WeightRule>(stages, {limit, 0})).lists;
}

} // namespace npar::schedules
