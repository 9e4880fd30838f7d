// Hill climbing over rules and orders.
#include "compiler/schedules/Improve.h"

#include <algorithm>
#include <random>

namespace npar::schedules {

namespace {

class Climb {
public:
  Climb(Candidate candidate, const std::vector<StageCost> &costs, double transfer)
      : best(std::move(candidate)), costs(costs), transfer(transfer), stages(static_cast<int>(costs.size())) {
    for (std::vector<Task> &tasks : best.order.lists) {
      auto isWeight = [](const Task &task) { return task.phase == Phase::W; };
      tasks.erase(std::remove_if(tasks.begin(), tasks.end(), isWeight), tasks.end());
    }
    for (const WeightRule &rule : best.rules)
      limits.push_back(rule.limit);
  }

  Candidate run(int trials) {
    Filled filled = fillWeights(best.order, costs, transfer, best.rules);
    if (filled.lists.empty())
      return best;
    double lowest = score(filled);
    for (int trial = 0; trial < trials; ++trial) {
      Candidate next = best;
      switch (pick(4)) {
      case 0:
        changePatience(next);
        break;
      case 1:
        changeLimit(next);
        break;
      default:
        pull(next.order.lists[pick(stages)]);
      }
      filled = fillWeights(next.order, costs, transfer, next.rules, lowest);
      if (filled.lists.empty() || score(filled) > lowest)
        continue;
      lowest = score(filled);
      best = std::move(next);
    }
    return best;
  }

private:
  int pick(int count) { return static_cast<int>(random() % count); }

  /// Draws some neighbouring stages, often a single one.
  std::pair<int, int> range() {
    int first = pick(stages), last = pick(2) == 0 ? first : pick(stages);
    return std::minmax(first, last);
  }

  void changePatience(Candidate &candidate) {
    auto [first, last] = range();
    double patience = pick(9) / 8.0;
    for (int stage = first; stage <= last; ++stage)
      candidate.rules[stage].patience = patience;
  }

  void changeLimit(Candidate &candidate) {
    auto [first, last] = range();
    int change = pick(5) - 2;
    for (int stage = first; stage <= last; ++stage)
      candidate.rules[stage].limit = std::clamp(candidate.rules[stage].limit + change, 1, limits[stage]);
  }

  /// Moves a task some places forward, unless it belongs after one of the tasks that it would pass.
  void pull(std::vector<Task> &tasks) {
    size_t to = pick(static_cast<int>(tasks.size())), from = to + 1 + pick(6);
    if (from >= tasks.size())
      return;
    const Task &task = tasks[from];
    for (size_t place = to; place < from; ++place)
      if (tasks[place].chunk == task.chunk && (tasks[place].phase == task.phase || tasks[place].micro == task.micro))
        return;
    std::rotate(tasks.begin() + to, tasks.begin() + from, tasks.begin() + from + 1);
  }

  Candidate best;
  const std::vector<StageCost> &costs;
  const double transfer;
  const int stages;
  std::vector<int> limits;
  std::minstd_rand random{1};
};

} // namespace

Candidate improve(Candidate candidate, const std::vector<StageCost> &costs, double transfer, int trials) {
  return Climb(std::move(candidate), costs, transfer).run(trials);
}

} // namespace npar::schedules
