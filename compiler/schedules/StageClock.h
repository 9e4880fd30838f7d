// Time in a pipeline whose order is found by running it: when each stage is free, and when the inputs of each task arrive.
#pragma once

#include "compiler/schedules/Schedule.h"

#include <functional>
#include <queue>

namespace npar::schedules {

/// A task takes its stage's time divided by the number of chunks; its result reaches another stage `transfer` later. The references must
/// outlive the clock.
class StageClock {
public:
  StageClock(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer);

  /// Calls `decide(stage, time)` whenever a stage is free and may have something new to start, in the order of time. Ends when nothing is
  /// left that could change: every task has run, or no stage can start another.
  template <typename Decide> void run(const Decide &decide) {
    for (size_t stage = 0; stage < freeAt.size(); ++stage)
      events.push({0, static_cast<int>(stage)});
    while (!events.empty()) {
      auto [time, stage] = events.top();
      events.pop();
      if (freeAt[stage] <= time)
        decide(stage, time);
    }
  }

  /// Starts a task of the part at this place of the chain.
  void start(int place, Phase phase, int micro, double time);

  /// Time at which the input of F or B arrives; infinite as long as what it waits for has not started.
  double arrival(int place, Phase phase, int micro) const { return arrivals[static_cast<int>(phase)][instance(place, micro)]; }
  /// Returns true if a time has come, apart from rounding.
  bool reached(double when, double time) const { return when <= time + tolerance; }
  /// End of the last task that the stage started.
  double free(int stage) const { return freeAt[stage]; }
  /// Place in the chain of a stage's chunk.
  int place(int stage, int chunk) const { return places[stage][chunk]; }

private:
  using Event = std::pair<double, int>; ///< time, and the stage that may have something new to start

  size_t instance(int place, int micro) const { return static_cast<size_t>(place) * micros + micro; }
  void send(Phase phase, int from, int place, int micro);

  const Placement &placement;
  const int chunks, micros;
  const std::vector<StageCost> &costs;
  const double transfer;
  double tolerance = 0;
  std::vector<std::vector<int>> places; ///< by stage and chunk
  std::vector<double> arrivals[2];      ///< of the inputs of F and B, by place and micro-batch
  std::vector<double> freeAt;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
};

} // namespace npar::schedules
