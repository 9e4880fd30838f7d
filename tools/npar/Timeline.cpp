// Reads the planned times of each stage's tasks.
#include "tools/npar/Timeline.h"

#include "engine/program/Mesh.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::driver {

using namespace npar::program;

namespace {

std::string text(const flatbuffers::String *string) { return string ? string->str() : std::string(); }

TimelineLane laneOf(const Program &program, const RankClass &rankClass) {
  TimelineLane lane;
  lane.stage = rankClass.stage();
  lane.ranks = describeRanks(program, rankClass);
  if (lane.ranks.size() > 22)
    lane.ranks = lane.ranks.substr(0, 18) + " ...";
  if (rankClass.tasks())
    for (const Task *task : *rankClass.tasks())
      lane.boxes.push_back({rankClass.fragments()->Get(task->fragment())->phase(), task->micro(), task->begin(), task->end()});
  return lane;
}

bool counts(const TimelineBox &box) { return runsPerMicro(box.phase); }

double bubbleOf(const std::vector<TimelineLane> &lanes) {
  double first = -1, last = 0, busy = 0;
  for (const TimelineLane &lane : lanes)
    for (const TimelineBox &box : lane.boxes)
      if (counts(box)) {
        first = first < 0 ? box.begin : std::min(first, box.begin);
        last = std::max(last, box.end);
        busy += box.end - box.begin;
      }
  double whole = (last - first) * static_cast<double>(lanes.size());
  return whole > 0 ? std::max(0.0, 1 - busy / whole) : 0;
}

} // namespace

Timeline timelineOf(const Program &program) {
  Timeline timeline;
  for (const RankClass *rankClass : *program.classes()) {
    auto sameStage = [&](const TimelineLane &lane) { return lane.stage == rankClass->stage(); };
    if (std::none_of(timeline.lanes.begin(), timeline.lanes.end(), sameStage))
      timeline.lanes.push_back(laneOf(program, *rankClass));
  }
  std::stable_sort(timeline.lanes.begin(), timeline.lanes.end(), [](const auto &a, const auto &b) { return a.stage < b.stage; });
  for (const TimelineLane &lane : timeline.lanes)
    for (const TimelineBox &box : lane.boxes)
      timeline.span = std::max(timeline.span, box.end);
  if (timeline.span <= 0) {
    timeline.planned = false;
    for (TimelineLane &lane : timeline.lanes)
      for (size_t i = 0; i < lane.boxes.size(); ++i) {
        lane.boxes[i].begin = static_cast<double>(i);
        lane.boxes[i].end = static_cast<double>(i + 1);
        timeline.span = std::max(timeline.span, lane.boxes[i].end);
      }
  } else {
    timeline.bubble = bubbleOf(timeline.lanes);
  }
  std::string stages =
      timeline.lanes.size() == 1 ? "1 stage" : fmt::format("{} stages, {}", timeline.lanes.size(), text(program.schedule()));
  timeline.title = fmt::format("{} under plan {}: {}, {} micro-batch{}", text(program.model()), text(program.plan()), stages,
                               program.micro_count(), program.micro_count() == 1 ? "" : "es");
  return timeline;
}

} // namespace npar::driver
