// Turns a schedule into a task graph (one kind per phase and place in the chain) and runs the event simulation.
#include "compiler/schedules/Simulate.h"

#include <algorithm>

namespace npar::schedules {

Simulation simulate(const TaskLists &lists, const std::vector<StageCost> &costs, double transfer) {
  int stages = lists.size(), chunks = 1;
  bool split = false;
  for (const std::vector<Task> &tasks : lists)
    for (const Task &task : tasks) {
      chunks = std::max(chunks, task.chunk + 1);
      split |= task.phase == Phase::W;
    }
  int places = stages * chunks;
  auto kind = [&](Phase phase, int place) { return static_cast<int>(phase) * places + place; };

  cost::TaskGraph graph;
  graph.kinds.resize(3 * places);
  for (int place = 0; place < places; ++place) {
    const StageCost &cost = costs[place % stages];
    graph.kinds[kind(Phase::F, place)].seconds = cost.forward / chunks;
    graph.kinds[kind(Phase::B, place)].seconds = cost.backward / chunks;
    graph.kinds[kind(Phase::W, place)].seconds = cost.weight / chunks;
    graph.edges.push_back({kind(Phase::F, place), kind(Phase::B, place), 0});
    graph.edges.push_back({kind(Phase::B, place), kind(Phase::W, place), 0});
    if (place == 0)
      continue;
    double seconds = stages == 1 ? 0 : transfer;
    graph.edges.push_back({kind(Phase::F, place - 1), kind(Phase::F, place), seconds});
    graph.edges.push_back({kind(Phase::B, place), kind(Phase::B, place - 1), seconds});
  }
  for (int stage = 0; stage < stages; ++stage) {
    graph.lanes.emplace_back();
    for (const Task &task : lists[stage])
      graph.lanes.back().push_back({kind(task.phase, task.chunk * stages + stage), task.micro});
  }

  Simulation result;
  result.timeline = cost::simulate(graph);
  // A stage runs its tasks in order, so what it holds follows from the order alone.
  Phase last = split ? Phase::W : Phase::B;
  for (const std::vector<Task> &tasks : lists) {
    int live = 0, peak = 0;
    for (const Task &task : tasks) {
      live += task.phase == Phase::F ? 1 : 0;
      peak = std::max(peak, live);
      live -= task.phase == last ? 1 : 0;
    }
    result.peakLive.push_back(peak);
  }
  return result;
}

} // namespace npar::schedules
