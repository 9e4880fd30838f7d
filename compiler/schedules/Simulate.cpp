// Turns a schedule into a task graph (one kind per phase and place in the chain) and runs the event simulation.
#include "compiler/schedules/Simulate.h"

#include <algorithm>
#include <set>

namespace npar::schedules {

Simulation simulate(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer) {
  const int places = static_cast<int>(schedule.placement.size()), chunks = schedule.chunks;
  auto kind = [&](Phase phase, int place) { return static_cast<int>(phase) * places + place; };
  cost::TaskGraph graph;
  graph.kinds.resize(3 * places);
  for (int place = 0; place < places; ++place) {
    const StageCost &cost = costs[schedule.placement[place]];
    graph.kinds[kind(Phase::F, place)].seconds = cost.forward / chunks;
    graph.kinds[kind(Phase::B, place)].seconds = cost.backward / chunks;
    graph.kinds[kind(Phase::W, place)].seconds = cost.weight / chunks;
    graph.edges.push_back({kind(Phase::F, place), kind(Phase::B, place), 0});
    graph.edges.push_back({kind(Phase::B, place), kind(Phase::W, place), 0});
    if (place == 0)
      continue;
    double seconds = schedule.placement[place - 1] == schedule.placement[place] ? 0 : transfer;
    graph.edges.push_back({kind(Phase::F, place - 1), kind(Phase::F, place), seconds});
    graph.edges.push_back({kind(Phase::B, place), kind(Phase::B, place - 1), seconds});
  }

  Simulation result;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    std::set<std::pair<int, int>> split; // chunk, micro-batch
    for (const Task &task : schedule.lists[stage])
      if (task.phase == Phase::W)
        split.emplace(task.chunk, task.micro);
    graph.lanes.emplace_back();
    // A stage runs its tasks in order, so what it holds follows from the order alone.
    int live = 0, peak = 0;
    for (const Task &task : schedule.lists[stage]) {
      bool whole = task.phase == Phase::B && !split.count({task.chunk, task.micro});
      graph.lanes.back().push_back(
          {kind(task.phase, schedule.place(stage, task.chunk)), task.micro, whole ? costs[stage].weight / chunks : 0});
      live += task.phase == Phase::F ? 1 : 0;
      peak = std::max(peak, live);
      live -= whole || task.phase == Phase::W ? 1 : 0;
    }
    result.peakLive.push_back(static_cast<double>(peak) / chunks);
  }
  result.timeline = cost::simulate(graph);
  return result;
}

} // namespace npar::schedules
