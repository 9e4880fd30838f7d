// An event loop like that of FillWeights, but each stage chooses among its chunks.
#include "compiler/schedules/GreedyOrder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace npar::schedules {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

class Greedy {
public:
  Greedy(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer, const GreedyRule &rule)
      : placement(placement), chunks(chunks), micros(micros), costs(costs), transfer(transfer), rule(rule), stages(costs.size()),
        parts(placement.size()), lists(costs.size()) {
    double slowest = 0;
    for (const StageCost &cost : costs)
      slowest = std::max(slowest, cost.forward + cost.backward + cost.weight);
    tolerance = 1e-9 * slowest;
    double wait = 0; // from the start of F of a part to the end of its B, when nothing else is in the way
    for (int place = static_cast<int>(parts.size()) - 1; place >= 0; --place) {
      const StageCost &cost = costs[placement[place]];
      wait += (cost.forward + cost.backward) / chunks;
      parts[place].inFlight = 1 + static_cast<int>(slowest > 0 ? std::min<double>(micros, rule.slack * wait / slowest) : 0);
      if (place > 0 && placement[place - 1] != placement[place])
        wait += 2 * transfer;
    }
    for (size_t place = 0; place < parts.size(); ++place) {
      stages[placement[place]].places.push_back(place);
      parts[place].ready[0].assign(micros, place == 0 ? 0 : never);
      parts[place].ready[1].assign(micros, never);
    }
  }

  TaskLists run() {
    for (size_t stage = 0; stage < stages.size(); ++stage)
      events.push({0, static_cast<int>(stage)});
    while (!events.empty()) {
      auto [time, stage] = events.top();
      events.pop();
      if (stages[stage].free <= time)
        decide(stage, time);
    }
    return std::move(lists);
  }

private:
  struct Part {
    int next[3] = {0, 0, 0};      ///< micro-batch, per phase
    std::vector<double> ready[2]; ///< times at which the inputs of forwards and backwards arrive
    int inFlight = 1;             ///< most micro-batches between F and B
  };
  struct Stage {
    std::vector<int> places; ///< by chunk
    double free = 0;         ///< end of its last task
    int held = 0;            ///< chunks between F and the end of W
  };
  using Event = std::pair<double, int>; ///< a stage may have something new to start

  void decide(int stage, double time) {
    for (Phase phase : {rule.forwardFirst ? Phase::F : Phase::B, rule.forwardFirst ? Phase::B : Phase::F, Phase::W})
      for (int i = 0; i < chunks; ++i) {
        int chunk = phase == Phase::B ? i : chunks - 1 - i;
        if (canStart(stage, chunk, phase, time))
          return start(stage, chunk, phase, time);
      }
  }

  bool canStart(int stage, int chunk, Phase phase, double time) const {
    const Part &part = parts[stages[stage].places[chunk]];
    int micro = part.next[static_cast<int>(phase)];
    if (micro >= micros)
      return false;
    if (phase == Phase::W)
      return micro < part.next[1];
    if (phase == Phase::F && (micro - part.next[1] >= part.inFlight || stages[stage].held >= rule.limit - (chunks - 1 - chunk)))
      return false;
    return part.ready[static_cast<int>(phase)][micro] <= time + tolerance;
  }

  void start(int stage, int chunk, Phase phase, double time) {
    int place = stages[stage].places[chunk];
    Part &part = parts[place];
    int micro = part.next[static_cast<int>(phase)]++;
    const StageCost &cost = costs[stage];
    double seconds = phase == Phase::F ? cost.forward : phase == Phase::B ? cost.backward : cost.weight;
    stages[stage].free = time + seconds / chunks;
    stages[stage].held += phase == Phase::F ? 1 : phase == Phase::W ? -1 : 0;
    if (phase == Phase::F && place + 1 == static_cast<int>(parts.size()))
      part.ready[1][micro] = stages[stage].free;
    else if (phase == Phase::F)
      send(stage, place + 1, phase, micro);
    else if (phase == Phase::B && place > 0)
      send(stage, place - 1, phase, micro);
    if (phase != Phase::W)
      lists[stage].push_back({phase, micro, chunk});
    events.push({stages[stage].free, stage});
  }

  void send(int from, int place, Phase phase, int micro) {
    double arrival = stages[from].free + (from == placement[place] ? 0 : transfer);
    parts[place].ready[static_cast<int>(phase)][micro] = arrival;
    events.push({arrival, placement[place]});
  }

  const Placement &placement;
  const int chunks, micros;
  const std::vector<StageCost> &costs;
  const double transfer;
  const GreedyRule &rule;
  double tolerance = 0;
  std::vector<Stage> stages;
  std::vector<Part> parts;
  TaskLists lists;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
};

} // namespace

Schedule greedyOrder(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer,
                     const GreedyRule &rule) {
  if (rule.limit < chunks)
    return {};
  return {"", micros, chunks, placement, Greedy(placement, chunks, micros, costs, transfer, rule).run()};
}

} // namespace npar::schedules
