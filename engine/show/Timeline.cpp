// Turns a View into the lanes of a picture.
#include "engine/show/Timeline.h"

#include "engine/readable/HumanUnits.h"
#include "engine/show/LiveMemory.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace npar::show {

using readable::humanBytes;

namespace {

/// The class's live bytes over time, thinned to its highest value in each of 600 parts of the span.
std::vector<TimelineMemory> memoryOf(const ClassView &one, double span) {
  constexpr size_t parts = 600;
  std::vector<std::pair<int64_t, int64_t>> events; // ns, bytes: what is freed sorts before what is taken at the same time
  for (const ViewTask &task : one.tasks)
    for (const MemoryChange &change : one.memory.patterns[task.pattern])
      events.emplace_back(nanoseconds(task.begin) + nanoseconds(change.at), change.bytes);
  std::sort(events.begin(), events.end());
  int64_t live = 0;
  for (size_t kind = 0; kind < memoryKinds; ++kind)
    live += static_cast<int64_t>(one.memory.always[kind] + one.memory.atStart[kind]);
  std::vector<TimelineMemory> curve;
  size_t next = 0;
  for (size_t part = 0; part < parts; ++part) {
    double until = span * static_cast<double>(part + 1) / parts;
    int64_t most = live;
    for (; next < events.size() && events[next].first < nanoseconds(until); ++next)
      most = std::max(most, live += events[next].second);
    if (curve.empty() || static_cast<int64_t>(curve.back().bytes) != most)
      curve.push_back({span * static_cast<double>(part) / parts, static_cast<uint64_t>(std::max<int64_t>(most, 0))});
  }
  return curve;
}

TimelineLane laneOf(const ClassView &one, double span) {
  TimelineLane lane;
  lane.stage = one.stage;
  lane.ranks = one.ranksWithin(22);
  lane.remark = fmt::format("waits {:.0f} %, live {}", 100 * one.bubble, humanBytes(static_cast<double>(one.memory.peakBytes)));
  lane.memory = memoryOf(one, span);
  lane.arenaBytes = one.arenaBytes;
  for (const ViewTask &task : one.tasks) {
    const ViewFragment &fragment = one.fragments[task.fragment];
    lane.boxes.push_back({fragment.phase, task.micro, task.begin, task.end, fragment.chunk});
    for (const ViewStep &step : fragment.steps)
      if (step.communicates())
        lane.messages.push_back({!step.transfers(), task.begin + step.begin, task.begin + step.end});
  }
  return lane;
}

} // namespace

Timeline timelineOf(const View &view) {
  Timeline timeline;
  timeline.title = view.title;
  timeline.span = view.span;
  timeline.bubble = view.bubble;
  timeline.planned = view.timed;
  timeline.origin = view.origin;
  for (const ClassView &one : view.classes)
    if (timeline.lanes.empty() || timeline.lanes.back().stage != one.stage)
      timeline.lanes.push_back(laneOf(one, view.span));
  return timeline;
}

} // namespace npar::show
