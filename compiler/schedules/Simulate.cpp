// Turns a schedule into a task graph (one kind per phase and place in the chain) and runs the event simulation; walks the lists for memory.
#include "compiler/schedules/Simulate.h"

#include <algorithm>

namespace npar::schedules {

namespace {

/// Records for each chunk and micro-batch of a stage whether the list splits its backward.
class Split {
public:
  Split(const Schedule &schedule, int stage) : micros(schedule.micros), split(schedule.chunks * schedule.micros, false) {
    for (const Task &task : schedule.lists[stage])
      if (task.phase == Phase::W)
        split[task.chunk * micros + task.micro] = true;
  }

  bool operator()(const Task &task) const { return split[task.chunk * micros + task.micro]; }

private:
  int micros;
  std::vector<bool> split;
};

/// Most that a stage holds at once: `backward` from each F to its B, `weight` from there to its W. A stage runs its tasks in order, so this
/// follows from the order alone.
double peak(const Schedule &schedule, int stage, double backward, double weight) {
  Split split(schedule, stage);
  double held = 0, most = 0;
  for (const Task &task : schedule.lists[stage]) {
    if (task.phase == Phase::F)
      held += backward;
    else if (task.phase == Phase::W)
      held -= weight;
    else
      held += split(task) ? weight - backward : -backward;
    most = std::max(most, held);
  }
  return most;
}

/// The place in the chain of each chunk of each stage.
std::vector<std::vector<int>> places(const Schedule &schedule) {
  std::vector<std::vector<int>> result(schedule.stages());
  for (size_t place = 0; place < schedule.placement.size(); ++place)
    result[schedule.placement[place]].push_back(place);
  return result;
}

} // namespace

Simulation simulate(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer) {
  const int chain = static_cast<int>(schedule.placement.size()), chunks = schedule.chunks;
  auto kind = [&](Phase phase, int place) { return static_cast<int>(phase) * chain + place; };
  cost::TaskGraph graph;
  graph.kinds.resize(3 * chain);
  for (int place = 0; place < chain; ++place) {
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
  std::vector<std::vector<int>> placeOf = places(schedule);
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    Split split(schedule, stage);
    graph.lanes.emplace_back();
    for (const Task &task : schedule.lists[stage]) {
      bool whole = task.phase == Phase::B && !split(task);
      graph.lanes.back().push_back({kind(task.phase, placeOf[stage][task.chunk]), task.micro, whole ? costs[stage].weight / chunks : 0});
    }
    result.peakLive.push_back(peak(schedule, stage, 1, 1) / chunks);
  }
  result.timeline = cost::simulate(graph);

  double work = 0;
  for (int stage = 0; stage < schedule.stages(); ++stage) {
    const std::vector<cost::Span> &spans = result.timeline.spans[stage];
    if (!spans.empty())
      result.cost = std::max(result.cost, spans.back().end - spans.front().begin);
    work = std::max(work, schedule.micros * (costs[stage].forward + costs[stage].backward + costs[stage].weight));
  }
  if (result.timeline.complete && result.cost > 0)
    result.bubbleRate = (result.cost - work) / result.cost;
  return result;
}

std::vector<double> peakMemory(const Schedule &schedule, const std::vector<StageMemory> &memory) {
  std::vector<double> result;
  for (int stage = 0; stage < schedule.stages(); ++stage)
    result.push_back(peak(schedule, stage, memory[stage].backward, memory[stage].weight) / schedule.chunks);
  return result;
}

} // namespace npar::schedules
