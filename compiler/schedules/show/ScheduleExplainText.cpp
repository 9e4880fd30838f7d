// Writes an explanation as tables for people and as JSON.
#include "compiler/schedules/show/ScheduleExplain.h"
#include "compiler/schedules/show/ScheduleText.h"
#include "engine/json/Json.h"

#include <fmt/format.h>

namespace npar::schedules {
namespace {

/// The path as runs of one stage: "stage 0  0 to 4  F0 .. F3".
std::string pathText(const TimedSchedule &timed, const std::vector<CriticalTask> &path) {
  constexpr size_t mostRuns = 24;
  std::vector<std::string> runs;
  for (size_t first = 0; first < path.size();) {
    size_t last = first;
    while (last + 1 < path.size() && path[last + 1].stage == path[first].stage)
      ++last;
    auto label = [&](size_t i) { return taskLabel(timed.schedule, timed.schedule.lists[path[i].stage][path[i].place]); };
    const auto &spans = timed.times->timeline.spans[path[first].stage];
    runs.push_back(fmt::format("  stage {:<4} {:>10.6g} to {:<10.6g} {}{}\n", path[first].stage, spans[path[first].place].begin,
                               spans[path[last].place].end, label(first),
                               last == first       ? ""
                               : last == first + 1 ? " " + label(last)
                                                   : " .. " + label(last)));
    first = last + 1;
  }
  std::string text;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs.size() > mostRuns && i == mostRuns / 2) {
      text += fmt::format("  ... {} more ...\n", runs.size() - mostRuns);
      i = runs.size() - mostRuns / 2;
    }
    text += runs[i];
  }
  return text;
}

} // namespace

std::string explanationText(const TimedSchedule &timed, const ScheduleExplanation &explanation) {
  double idle = 0, all = timed.times->timeline.makespan * timed.schedule.stages();
  StageWait sum;
  for (const StageWait &wait : explanation.stages) {
    idle += wait.idle;
    sum.warmUp += wait.warmUp, sum.steady += wait.steady, sum.drain += wait.drain;
    sum.forward += wait.forward, sum.backward += wait.backward, sum.message += wait.message, sum.done += wait.done;
  }
  std::string text = fmt::format("{}; makespan {:.6g}, bubble rate {:.2f} %\n\n", scheduleTitle(timed), timed.times->timeline.makespan,
                                 100 * timed.bubbleRate);
  auto share = [&](double time) { return idle > 0 ? 100 * time / idle : 0; };
  text += fmt::format(
      "The stages wait for {:.6g} of {:.6g} time units ({:.2f} %): {:.0f} % of that in warm-up, {:.0f} % in steady state, {:.0f} % in "
      "drain;\n"
      "{:.0f} % for forwards of other stages, {:.0f} % for backwards, {:.0f} % for messages, {:.0f} % with nothing left to do.\n\n",
      idle, all, 100 * idle / all, share(sum.warmUp), share(sum.steady), share(sum.drain), share(sum.forward), share(sum.backward),
      share(sum.message), share(sum.done));
  text += fmt::format("{:>5} {:>10} {:>10} | {:>10} {:>10} {:>10} | {:>10} {:>10} {:>10} {:>10}  {}\n", "stage", "busy", "idle", "warm-up",
                      "steady", "drain", "for F", "for B", "message", "done", "waits for");
  for (size_t stage = 0; stage < explanation.stages.size(); ++stage) {
    const StageWait &wait = explanation.stages[stage];
    std::string whom;
    if (wait.forwardFrom >= 0)
      whom = "F of stage " + std::to_string(wait.forwardFrom);
    if (wait.backwardFrom >= 0)
      whom += (whom.empty() ? "B of stage " : ", B of stage ") + std::to_string(wait.backwardFrom);
    text +=
        fmt::format("{:>5} {:>10.6g} {:>10.6g} | {:>10.6g} {:>10.6g} {:>10.6g} | {:>10.6g} {:>10.6g} {:>10.6g} {:>10.6g}  {}\n", stage,
                    wait.busy, wait.idle, wait.warmUp, wait.steady, wait.drain, wait.forward, wait.backward, wait.message, wait.done, whom);
  }
  text += fmt::format("\nCritical path: F {:.6g} + B {:.6g} + W {:.6g} + messages {:.6g} = {:.6g}\n{}", explanation.pathPhases[0],
                      explanation.pathPhases[1], explanation.pathPhases[2], explanation.pathMessages, timed.times->timeline.makespan,
                      pathText(timed, explanation.path));
  text += "\nWhat would reduce it:\n";
  for (const std::string &line : explanation.advice)
    text += "  " + line + "\n";
  return text;
}

OrderedJson explanationJson(const TimedSchedule &timed, const ScheduleExplanation &explanation) {
  OrderedJson json{{"kind", timed.schedule.kind},     {"stages", timed.schedule.stages()},          {"microbatches", timed.schedule.micros},
                   {"chunks", timed.schedule.chunks}, {"makespan", timed.times->timeline.makespan}, {"bubble_rate", timed.bubbleRate},
                   {"waits", OrderedJson::array()}};
  auto stageOf = [](int stage) { return stage < 0 ? OrderedJson() : OrderedJson(stage); };
  for (size_t stage = 0; stage < explanation.stages.size(); ++stage) {
    const StageWait &wait = explanation.stages[stage];
    json["waits"].push_back({{"stage", stage},
                             {"busy", wait.busy},
                             {"idle", wait.idle},
                             {"warm_up", wait.warmUp},
                             {"steady", wait.steady},
                             {"drain", wait.drain},
                             {"for_forward", wait.forward},
                             {"for_backward", wait.backward},
                             {"for_message", wait.message},
                             {"done", wait.done},
                             {"forward_from", stageOf(wait.forwardFrom)},
                             {"backward_from", stageOf(wait.backwardFrom)}});
  }
  json["critical_path"] = OrderedJson::array();
  for (const CriticalTask &step : explanation.path) {
    const Task &task = timed.schedule.lists[step.stage][step.place];
    const cost::Span &span = timed.times->timeline.spans[step.stage][step.place];
    json["critical_path"].push_back({{"stage", step.stage},
                                     {"phase", std::string(1, letter(task.phase))},
                                     {"chunk", task.chunk},
                                     {"micro_index", task.micro},
                                     {"start", span.begin},
                                     {"end", span.end},
                                     {"by_message", step.message}});
  }
  json["advice"] = explanation.advice;
  return json;
}

} // namespace npar::schedules
