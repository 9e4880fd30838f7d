// Draws a schedule with letters and writes it as JSON.
#include "compiler/schedules/show/ScheduleText.h"

#include "engine/json/Json.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::schedules {
namespace {

/// Columns: the shortest task has room for the longest label and a space.
struct Ruler {
  size_t label = 0;
  double scale = 0; ///< columns per unit of time
  explicit Ruler(const TimedSchedule &timed) {
    double shortest = 0;
    for (size_t stage = 0; stage < timed.schedule.lists.size(); ++stage)
      for (size_t i = 0; i < timed.schedule.lists[stage].size(); ++i) {
        label = std::max(label, taskLabel(timed.schedule, timed.schedule.lists[stage][i]).size());
        const cost::Span &span = timed.times->timeline.spans[stage][i];
        if (span.end > span.begin && (shortest == 0 || span.end - span.begin < shortest))
          shortest = span.end - span.begin;
      }
    scale = shortest > 0 ? static_cast<double>(label + 1) / shortest : 0;
  }
  double width(double seconds) const { return seconds * scale; }
  size_t column(double seconds) const { return static_cast<size_t>(std::lround(seconds * scale)); }
};

std::string row(const TimedSchedule &timed, size_t stage, const Ruler &ruler) {
  std::string text(ruler.column(timed.times->timeline.makespan), '.');
  for (size_t i = ruler.label; i < text.size(); i += ruler.label + 1)
    text[i] = ' ';
  const std::vector<Task> &tasks = timed.schedule.lists[stage];
  for (size_t i = 0; i < tasks.size(); ++i) {
    const cost::Span &span = timed.times->timeline.spans[stage][i];
    size_t begin = ruler.column(span.begin), end = ruler.column(span.end);
    if (end <= begin)
      continue;
    std::string label = taskLabel(timed.schedule, tasks[i]).substr(0, end - begin);
    text.replace(begin, label.size(), label);
    for (size_t at = begin + label.size(); at < end; ++at)
      text[at] = at + 1 == end || end - begin == ruler.label + 1 ? ' ' : '-';
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

OrderedJson taskJson(const TimedSchedule &timed, size_t stage, size_t i) {
  const Task &task = timed.schedule.lists[stage][i];
  OrderedJson json;
  json["phase"] = std::string(1, letter(task.phase));
  json["chunk"] = task.chunk;
  json["micro_index"] = task.micro;
  json["start"] = timed.times->timeline.spans[stage][i].begin;
  json["end"] = timed.times->timeline.spans[stage][i].end;
  return json;
}

std::string counted(int number, const char *word, const char *plural) {
  return fmt::format("{} {}{}", number, word, number == 1 ? "" : plural);
}

} // namespace

std::string taskLabel(const Schedule &schedule, const Task &task) {
  std::string label = letter(task.phase) + std::to_string(task.micro);
  return schedule.chunks > 1 ? label + "." + std::to_string(task.chunk) : label;
}

std::string scheduleTitle(const TimedSchedule &timed) {
  const Schedule &schedule = timed.schedule;
  std::string name = timed.name.substr(timed.name.rfind('/') + 1); // of a file without its folders
  return fmt::format("{}: {}, {}, {} per stage", name.size() > 40 ? "..." + name.substr(name.size() - 37) : name,
                     counted(schedule.stages(), "stage", "s"), counted(schedule.micros, "micro-batch", "es"),
                     counted(schedule.chunks, "chunk", "s"));
}

std::string scheduleText(const TimedSchedule &timed, size_t width) {
  std::string text = fmt::format("{}; F {:g}, B {:g}, W {:g}, message {:g}\n", scheduleTitle(timed), timed.cost.forward,
                                 timed.cost.backward, timed.cost.weight, timed.transfer);
  Ruler ruler(timed);
  double columns = ruler.width(timed.times->timeline.makespan);
  size_t digits = std::to_string(timed.schedule.stages() - 1).size();
  if (columns <= static_cast<double>(width)) {
    text += '\n';
    for (size_t stage = 0; stage < timed.schedule.lists.size(); ++stage)
      text += fmt::format("stage {:<{}}  {}\n", stage, digits, row(timed, stage, ruler));
  } else {
    text += fmt::format("the timeline is {:.0f} columns wide, more than {}: --format=svg draws it\n", columns, width);
  }
  std::string peaks;
  for (double peak : timed.times->peakLive)
    peaks += fmt::format(" {:.4g}", peak);
  text += fmt::format("\nmakespan     {:.6g}\nbubble rate  {:.2f} %\npeak live   {}   (forward activations per stage)\n",
                      timed.times->timeline.makespan, 100 * timed.bubbleRate, peaks);
  return text;
}

OrderedJson scheduleJson(const TimedSchedule &timed) {
  const Schedule &schedule = timed.schedule;
  OrderedJson json;
  json["kind"] = schedule.kind;
  json["stages"] = schedule.stages();
  json["microbatches"] = schedule.micros;
  json["chunks"] = schedule.chunks;
  json["makespan"] = timed.times ? OrderedJson(timed.times->timeline.makespan) : OrderedJson();
  json["bubble_rate"] = timed.times ? OrderedJson(timed.bubbleRate) : OrderedJson();
  json["peak_live"] = timed.times ? OrderedJson(timed.times->peakLive) : OrderedJson::array();
  json["tasks"] = OrderedJson::array();
  for (size_t stage = 0; timed.times && stage < schedule.lists.size(); ++stage) {
    OrderedJson tasks = OrderedJson::array();
    for (size_t i = 0; i < schedule.lists[stage].size(); ++i)
      tasks.push_back(taskJson(timed, stage, i));
    json["tasks"].push_back(std::move(tasks));
  }
  json["ok"] = timed.faults.empty();
  json["errors"] = OrderedJson::array();
  for (const ScheduleFault &fault : timed.faults) {
    OrderedJson error{{"stage", fault.stage}, {"position", fault.place}, {"reason", fault.reason}};
    if (fault.row > 0)
      error.update({{"row", fault.row}, {"column", fault.column}});
    if (!fault.cycle.empty())
      error["cycle"] = OrderedJson::array();
    for (const TextLink &link : fault.cycle)
      error["cycle"].push_back({{"action", link.action},
                                {"stage", link.stage},
                                {"position", link.place},
                                {"row", link.at.row},
                                {"column", link.at.column},
                                {"waits_for_next", link.otherEnd ? "other end" : "order"}});
    json["errors"].push_back(std::move(error));
  }
  return json;
}

} // namespace npar::schedules
