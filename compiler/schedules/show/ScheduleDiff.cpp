// Two schedules side by side.
#include "compiler/schedules/show/ScheduleDiff.h"

#include "compiler/schedules/show/ScheduleText.h"
#include "engine/json/Json.h"
#include "engine/readable/TableRow.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::schedules {

using readable::TableRow;

namespace {

/// Returns the number of tasks after which the orders of one stage differ; nothing if they are the same.
std::optional<size_t> parting(const TimedSchedule &a, const TimedSchedule &b, size_t stage) {
  const std::vector<Task> none, &left = stage < a.schedule.lists.size() ? a.schedule.lists[stage] : none,
                                &right = stage < b.schedule.lists.size() ? b.schedule.lists[stage] : none;
  auto [first, second] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (first == left.end() && second == right.end())
    return std::nullopt;
  return static_cast<size_t>(first - left.begin());
}

/// A few tasks of a stage from a place on.
std::string excerpt(const TimedSchedule &timed, size_t stage, size_t from) {
  constexpr size_t few = 4;
  if (stage >= timed.schedule.lists.size())
    return "no such stage";
  const std::vector<Task> &tasks = timed.schedule.lists[stage];
  std::string text;
  for (size_t i = from; i < std::min(tasks.size(), from + few); ++i)
    text += (i > from ? " " : "") + taskLabel(timed.schedule, tasks[i]);
  return text.empty() ? "nothing more" : from + few < tasks.size() ? text + " ..." : text;
}

double peakOf(const TimedSchedule &timed, size_t stage) { return stage < timed.times->peakLive.size() ? timed.times->peakLive[stage] : 0; }

std::string placementText(const Placement &placement) {
  std::vector<int> shown(placement.begin(), placement.begin() + static_cast<long>(std::min<size_t>(placement.size(), 32)));
  return fmt::format("{}{}", fmt::join(shown, " "), placement.size() > shown.size() ? " ..." : "");
}

size_t mostStages(const TimedSchedule &a, const TimedSchedule &b) { return std::max(a.schedule.lists.size(), b.schedule.lists.size()); }

OrderedJson sideJson(const TimedSchedule &timed) {
  return {{"name", timed.name},
          {"stages", timed.schedule.stages()},
          {"microbatches", timed.schedule.micros},
          {"chunks", timed.schedule.chunks},
          {"placement", timed.schedule.placement},
          {"makespan", timed.times->timeline.makespan},
          {"bubble_rate", timed.bubbleRate},
          {"peak_live", timed.times->peakLive},
          {"messages", timed.messages()}};
}

} // namespace

std::string diffText(const TimedSchedule &a, const TimedSchedule &b) {
  std::string text = fmt::format("A  {}\nB  {}\n\n", scheduleTitle(a), scheduleTitle(b));
  text += TableRow().left("", 14).right("A", 14).right("B", 14).right("B - A", 14).str();
  auto line = [&](const char *name, double left, double right) {
    auto number = [](double value) { return fmt::format("{:.6g}", value); };
    text +=
        TableRow().left(name, 14).right(number(left), 14).right(number(right), 14).right(fmt::format("{:+.6g}", right - left), 14).str();
  };
  line("makespan", a.times->timeline.makespan, b.times->timeline.makespan);
  line("bubble rate %", 100 * a.bubbleRate, 100 * b.bubbleRate);
  line("peak live", a.peakLive(), b.peakLive());
  line("messages", static_cast<double>(a.messages()), static_cast<double>(b.messages()));
  text += '\n';
  if (!(a.schedule.placement == b.schedule.placement))
    text += fmt::format("parts of the chain are on stages {} in A, {} in B\n", placementText(a.schedule.placement),
                        placementText(b.schedule.placement));
  for (size_t stage = 0; stage < mostStages(a, b); ++stage) {
    std::optional<size_t> place = parting(a, b, stage);
    std::string live = fmt::format("; holds {:.4g} in A, {:.4g} in B", peakOf(a, stage), peakOf(b, stage));
    text += place ? fmt::format("stage {}: from task {} on, A has {}, B has {}{}\n", stage, *place, excerpt(a, stage, *place),
                                excerpt(b, stage, *place), live)
                  : fmt::format("stage {}: the same order{}\n", stage, live);
  }
  return text;
}

OrderedJson diffJson(const TimedSchedule &a, const TimedSchedule &b) {
  OrderedJson json{{"a", sideJson(a)}, {"b", sideJson(b)}, {"same", a.schedule == b.schedule}, {"stages", OrderedJson::array()}};
  for (size_t stage = 0; stage < mostStages(a, b); ++stage) {
    std::optional<size_t> place = parting(a, b, stage);
    auto at = [&](const TimedSchedule &timed) {
      bool there = place && stage < timed.schedule.lists.size() && *place < timed.schedule.lists[stage].size();
      return there ? OrderedJson(taskLabel(timed.schedule, timed.schedule.lists[stage][*place])) : OrderedJson();
    };
    json["stages"].push_back({{"stage", stage},
                              {"same_order", !place},
                              {"first_difference", place ? OrderedJson(*place) : OrderedJson()},
                              {"a", at(a)},
                              {"b", at(b)},
                              {"peak_live_a", peakOf(a, stage)},
                              {"peak_live_b", peakOf(b, stage)}});
  }
  return json;
}

} // namespace npar::schedules
