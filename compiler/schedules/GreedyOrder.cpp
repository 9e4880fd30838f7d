// The event loop of FillWeights, where each stage chooses among its chunks.
#include "compiler/schedules/GreedyOrder.h"

#include "compiler/schedules/StageClock.h"

#include <algorithm>

namespace npar::schedules {

namespace {

class Greedy {
public:
  Greedy(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer, const GreedyRule &rule)
      : chunks(chunks), micros(micros), rule(rule), clock(placement, chunks, micros, costs, transfer), parts(placement.size()),
        held(costs.size()), lists(costs.size()) {
    double slowest = 0;
    for (const StageCost &cost : costs)
      slowest = std::max(slowest, cost.forward + cost.backward + cost.weight);
    double wait = 0; // from the start of F of a part to the end of its B, when nothing else is in the way
    for (int place = static_cast<int>(parts.size()) - 1; place >= 0; --place) {
      const StageCost &cost = costs[placement[place]];
      wait += (cost.forward + cost.backward) / chunks;
      parts[place].inFlight = 1 + static_cast<int>(slowest > 0 ? std::min<double>(micros, rule.slack * wait / slowest) : 0);
      if (place > 0 && placement[place - 1] != placement[place])
        wait += 2 * transfer;
    }
  }

  TaskLists run() {
    clock.run([this](int stage, double time) { decide(stage, time); });
    return std::move(lists);
  }

private:
  struct Part {
    int next[3] = {0, 0, 0}; ///< micro-batch, per phase
    int inFlight = 1;        ///< most micro-batches between F and B
  };

  void decide(int stage, double time) {
    for (Phase phase : {rule.forwardFirst ? Phase::F : Phase::B, rule.forwardFirst ? Phase::B : Phase::F, Phase::W})
      for (int i = 0; i < chunks; ++i) {
        int chunk = phase == Phase::B ? i : chunks - 1 - i;
        if (canStart(stage, chunk, phase, time))
          return start(stage, chunk, phase, time);
      }
  }

  bool canStart(int stage, int chunk, Phase phase, double time) const {
    int place = clock.place(stage, chunk);
    const Part &part = parts[place];
    int micro = part.next[static_cast<int>(phase)];
    if (micro >= micros)
      return false;
    if (phase == Phase::W)
      return micro < part.next[1];
    if (phase == Phase::F && (micro - part.next[1] >= part.inFlight || held[stage] >= rule.limit - (chunks - 1 - chunk)))
      return false;
    return clock.reached(clock.arrival(place, phase, micro), time);
  }

  void start(int stage, int chunk, Phase phase, double time) {
    int place = clock.place(stage, chunk);
    int micro = parts[place].next[static_cast<int>(phase)]++;
    held[stage] += phase == Phase::F ? 1 : phase == Phase::W ? -1 : 0;
    if (phase != Phase::W)
      lists[stage].push_back({phase, micro, chunk});
    clock.start(place, phase, micro, time);
  }

  const int chunks, micros;
  const GreedyRule &rule;
  StageClock clock;
  std::vector<Part> parts; ///< by place in the chain
  std::vector<int> held;   ///< chunks between F and the end of W, by stage
  TaskLists lists;
};

} // namespace

Schedule greedyOrder(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer,
                     const GreedyRule &rule) {
  if (rule.limit < chunks)
    return {};
  return {"", micros, chunks, placement, Greedy(placement, chunks, micros, costs, transfer, rule).run()};
}

} // namespace npar::schedules
