// Makes, checks and times schedules.
#include "compiler/schedules/show/TimedSchedule.h"

#include "compiler/schedules/Validate.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::schedules {

double TimedSchedule::peakLive() const { return times ? *std::max_element(times->peakLive.begin(), times->peakLive.end()) : 0; }

int64_t TimedSchedule::messages() const {
  int64_t hops = 0;
  for (size_t place = 1; place < schedule.placement.size(); ++place)
    hops += schedule.placement[place] != schedule.placement[place - 1];
  return 2 * hops * schedule.micros; // the activation down, its gradient up
}

void addTimes(TimedSchedule &timed) {
  timed.times = simulate(timed.schedule, std::vector<StageCost>(timed.schedule.stages(), timed.cost), timed.transfer);
  timed.bubbleRate = timed.times->bubbleRate;
  const std::vector<double> &peak = timed.times->peakLive;
  for (size_t stage = 0; timed.memoryCap > 0 && stage < peak.size(); ++stage)
    if (peak[stage] > timed.memoryCap + 1e-9)
      timed.faults.push_back({static_cast<int>(stage),
                              static_cast<int>(timed.schedule.lists[stage].size()),
                              fmt::format("holds {:g} forward activations at once, the cap is {:g}", peak[stage], timed.memoryCap),
                              0,
                              0,
                              false,
                              {}});
}

MadeSchedule makeTimed(const ScheduleKind &kind, int stages, int micros, int chunks, const TimedSchedule &like) {
  Request request;
  request.stages = stages;
  request.micros = micros;
  request.chunks = chunks;
  request.costs.assign(std::max(0, stages), like.cost);
  request.transfer = like.transfer;
  request.memoryCap = like.memoryCap;
  Made made = makeSchedule(kind, request);
  if (!made.refusal.empty())
    return {std::nullopt, made.refusal};
  TimedSchedule timed = like;
  timed.name = kind.name;
  timed.schedule = std::move(made.schedule);
  timed.faults.clear();
  for (const ScheduleError &error : validate(timed.schedule))
    timed.faults.push_back({error.stage, error.place, error.reason, 0, 0, false, {}});
  if (timed.faults.empty())
    addTimes(timed);
  return {std::move(timed), ""};
}

} // namespace npar::schedules
