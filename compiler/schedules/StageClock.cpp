// Ends of tasks and arrivals of messages become events of the stages that they concern.
#include "compiler/schedules/StageClock.h"

#include <algorithm>
#include <limits>

namespace npar::schedules {

StageClock::StageClock(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer)
    : placement(placement), chunks(chunks), micros(micros), costs(costs), transfer(transfer), places(costs.size()), freeAt(costs.size()) {
  for (const StageCost &cost : costs)
    tolerance = std::max(tolerance, 1e-9 * (cost.forward + cost.backward + cost.weight));
  for (size_t place = 0; place < placement.size(); ++place)
    places[placement[place]].push_back(static_cast<int>(place));
  for (std::vector<double> &of : arrivals)
    of.assign(placement.size() * micros, std::numeric_limits<double>::infinity());
  std::fill_n(arrivals[0].begin(), micros, 0);
}

void StageClock::start(int place, Phase phase, int micro, double time) {
  int stage = placement[place];
  const StageCost &cost = costs[stage];
  freeAt[stage] = time + (phase == Phase::F ? cost.forward : phase == Phase::B ? cost.backward : cost.weight) / chunks;
  bool last = place + 1 == static_cast<int>(placement.size());
  if (phase == Phase::F && last)
    arrivals[1][instance(place, micro)] = freeAt[stage];
  else if (phase == Phase::F)
    send(phase, stage, place + 1, micro);
  else if (phase == Phase::B && place > 0)
    send(phase, stage, place - 1, micro);
  events.push({freeAt[stage], stage});
}

void StageClock::send(Phase phase, int from, int place, int micro) {
  int to = placement[place];
  double arrival = freeAt[from] + (from == to ? 0 : transfer);
  arrivals[static_cast<int>(phase)][instance(place, micro)] = arrival;
  events.push({arrival, to});
}

} // namespace npar::schedules
