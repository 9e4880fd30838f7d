// Reads a trace event by event and averages what belongs to the same step of the plan.
#include "engine/show/MeasuredRun.h"

#include "engine/program/Classes.h"
#include "engine/readable/HumanUnits.h"
#include "engine/show/TraceText.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace npar::show {

using readable::humanTime;

using engine::Result;
using engine::Status;

namespace {

struct Event {
  uint32_t rank = 0, task = 0, step = 0, of = 0; ///< of: class in the view
  int64_t trainingStep = 0;
  double begin = 0, end = 0; ///< seconds
};

uint64_t stepsOf(const ClassView &one) {
  uint64_t steps = 0;
  for (const ViewTask &task : one.tasks)
    steps += one.fragments[task.fragment].steps.size();
  return steps;
}

/// Holds each step of a trace against the program that it is to be of.
class TraceReader {
public:
  TraceReader(const program::Program &program, const View &view, std::string name) : view(view), name(std::move(name)) {
    std::map<uint32_t, uint32_t> places;
    for (uint32_t c = 0; c < view.classes.size(); ++c)
      places[view.classes[c].programClass] = c;
    for (int64_t rank = 0; rank < view.world; ++rank)
      classOfRank.push_back(places[program::classOf(program, rank)]);
  }

  std::vector<Event> events;
  uint64_t dropped = 0;

  Status read(const std::string &text) {
    TraceText trace = readTraceText(text, [&](const TracedStep &step) { return add(step); });
    if (!trace.isTrace)
      return Status::badInput("'" + name + "' is not a trace: expected the JSON that npar train --trace writes");
    if (!trace.problem.empty())
      return Status::badInput("'" + name + "' " + trace.problem);
    if (events.empty())
      return Status::badInput("'" + name + "' contains no step of a run: expected the JSON that npar train --trace writes");
    dropped = trace.dropped;
    return {};
  }

private:
  const View &view;
  std::string name;
  std::vector<uint32_t> classOfRank;

  /// Adds a step, or returns what is wrong with it.
  std::string add(const TracedStep &traced) {
    std::string other;
    if (traced.rank >= classOfRank.size()) {
      other = fmt::format("it has rank {}, the program {} rank{}", traced.rank, classOfRank.size(), classOfRank.size() == 1 ? "" : "s");
    } else {
      const ClassView &one = view.classes[classOfRank[traced.rank]];
      const ViewFragment *fragment = traced.task < one.tasks.size() ? &one.fragments[one.tasks[traced.task].fragment] : nullptr;
      if (!fragment || traced.step >= fragment->steps.size())
        other = fmt::format("rank {} has no step {} of task {}", traced.rank, traced.step, traced.task);
      else if (const std::string &expected = view.labels[fragment->steps[traced.step].label].text; traced.name != expected)
        other = fmt::format("step {} of task {} on rank {} is '{}' there and '{}' in the program", traced.step, traced.task, traced.rank,
                            traced.name.substr(0, 200), expected);
    }
    if (!other.empty())
      return "is a trace of another program: " + other;
    events.push_back({static_cast<uint32_t>(traced.rank), static_cast<uint32_t>(traced.task), static_cast<uint32_t>(traced.step),
                      classOfRank[traced.rank], static_cast<int64_t>(traced.trainingStep), traced.begin, traced.end});
    return "";
  }
};

/// Keeps the events of complete training steps, the first one of several left out, with times from the step's own begin. Returns how
/// many training steps.
int64_t keepWholeSteps(const View &view, std::vector<Event> &events) {
  uint64_t expected = 0;
  for (const ClassView &one : view.classes)
    expected += one.rankList.size() * stepsOf(one);
  std::map<int64_t, std::pair<uint64_t, double>> steps; // events, begin
  for (const Event &event : events) {
    auto [entry, isNew] = steps.emplace(event.trainingStep, std::pair(0, event.begin));
    ++entry->second.first;
    entry->second.second = std::min(entry->second.second, event.begin);
  }
  std::set<int64_t> whole;
  for (const auto &[step, facts] : steps)
    if (facts.first == expected)
      whole.insert(step);
  if (whole.size() > 1)
    whole.erase(whole.begin());
  std::vector<Event> kept;
  for (Event &event : events)
    if (whole.count(event.trainingStep)) {
      event.begin -= steps[event.trainingStep].second;
      event.end -= steps[event.trainingStep].second;
      kept.push_back(event);
    }
  events = std::move(kept);
  return static_cast<int64_t>(whole.size());
}

struct Mean {
  double begin = 0, end = 0;
  uint64_t count = 0;
};

/// The plan's classes at measured times. `means`: per class and task the steps' means.
void moveToMeasured(View &view, const std::vector<std::vector<std::vector<Mean>>> &means) {
  for (size_t c = 0; c < view.classes.size(); ++c) {
    ClassView &one = view.classes[c];
    std::vector<std::vector<Mean>> offsets(one.fragments.size());
    for (size_t f = 0; f < offsets.size(); ++f)
      offsets[f].resize(one.fragments[f].steps.size());
    for (size_t t = 0; t < one.tasks.size(); ++t) {
      ViewTask &task = one.tasks[t];
      const ViewFragment &fragment = one.fragments[task.fragment];
      // Messages overlap with tasks. Only messages can time a task that has nothing else.
      bool computes = std::any_of(fragment.steps.begin(), fragment.steps.end(), [](const ViewStep &step) { return !step.transfers(); });
      bool first = true;
      for (size_t s = 0; s < fragment.steps.size(); ++s) {
        if (computes && fragment.steps[s].transfers())
          continue;
        const Mean &mean = means[c][t][s];
        task.begin = first ? mean.begin : std::min(task.begin, mean.begin);
        task.end = first ? mean.end : std::max(task.end, mean.end);
        first = false;
      }
      for (size_t s = 0; s < fragment.steps.size(); ++s) {
        offsets[task.fragment][s].begin += means[c][t][s].begin - task.begin;
        offsets[task.fragment][s].end += means[c][t][s].end - task.begin;
        ++offsets[task.fragment][s].count;
      }
    }
    for (size_t f = 0; f < offsets.size(); ++f)
      for (size_t s = 0; s < offsets[f].size(); ++s)
        if (offsets[f][s].count) {
          one.fragments[f].steps[s].begin = offsets[f][s].begin / static_cast<double>(offsets[f][s].count);
          one.fragments[f].steps[s].end = offsets[f][s].end / static_cast<double>(offsets[f][s].count);
        }
  }
}

std::string kindOf(const ViewStep &step) {
  if (!step.communicates())
    return program::EnumNameStepKind(step.kind);
  return step.transfers() ? step.message.kind : step.message.kind + " " + step.message.over;
}

void countKinds(const View &planned, const std::vector<Event> &events, MeasuredRun &actual) {
  std::map<std::string, KindTime> kinds;
  double share = 1.0 / (static_cast<double>(planned.world) * static_cast<double>(actual.trainingSteps));
  for (const Event &event : events) {
    const ClassView &one = planned.classes[event.of];
    const ViewStep &step = one.fragments[one.tasks[event.task].fragment].steps[event.step];
    KindTime &kind = kinds[kindOf(step)];
    kind.computes = !step.communicates(), kind.transfers = step.transfers();
    kind.count += share;
    kind.planned += share * (step.end - step.begin);
    kind.measured += share * (event.end - event.begin);
    kind.flops += share * step.flops;
    if (!step.communicates())
      actual.computing += share * (event.end - event.begin);
  }
  for (auto &[name, kind] : kinds) {
    kind.kind = name;
    actual.kinds.push_back(kind);
  }
  std::stable_sort(actual.kinds.begin(), actual.kinds.end(), [](const auto &a, const auto &b) { return a.measured > b.measured; });
  actual.computing = actual.measured.span > 0 ? actual.computing / actual.measured.span : 0;
}

/// Communication that no computing of the same rank hides.
double exposedOf(const View &planned, const std::vector<Event> &events, int64_t trainingSteps) {
  struct Edge {
    double time;
    int computing, communicating; ///< change of the count from then on
  };
  std::map<std::pair<int64_t, uint32_t>, std::vector<Edge>> edges; // training step, rank
  for (const Event &event : events) {
    const ClassView &one = planned.classes[event.of];
    bool communicates = one.fragments[one.tasks[event.task].fragment].steps[event.step].communicates();
    std::vector<Edge> &own = edges[{event.trainingStep, event.rank}];
    own.push_back({event.begin, !communicates, communicates});
    own.push_back({event.end, -!communicates, -int{communicates}});
  }
  double exposed = 0;
  for (auto &[key, own] : edges) {
    std::sort(own.begin(), own.end(), [](const Edge &a, const Edge &b) { return a.time < b.time; });
    int computing = 0, communicating = 0;
    for (size_t i = 0; i + 1 < own.size(); ++i) {
      computing += own[i].computing, communicating += own[i].communicating;
      if (communicating > 0 && computing == 0)
        exposed += own[i + 1].time - own[i].time;
    }
  }
  return exposed / (static_cast<double>(planned.world) * static_cast<double>(trainingSteps));
}

void findStragglers(const View &planned, const std::vector<Event> &events, MeasuredRun &actual) {
  std::vector<std::map<int64_t, double>> byStep(static_cast<size_t>(planned.world)); // rank -> training step -> seconds
  for (const Event &event : events) {
    const ClassView &one = planned.classes[event.of];
    if (!one.fragments[one.tasks[event.task].fragment].steps[event.step].communicates())
      byStep[event.rank][event.trainingStep] += event.end - event.begin;
  }
  std::vector<double> seconds; // of a rank: the median, so that one disturbed step makes no straggler
  for (const std::map<int64_t, double> &steps : byStep) {
    std::vector<double> all;
    for (const auto &[step, sum] : steps)
      all.push_back(sum);
    std::sort(all.begin(), all.end());
    seconds.push_back(all.empty() ? 0 : all[(all.size() - 1) / 2]);
  }
  for (const ClassView &one : planned.classes) {
    std::vector<double> all;
    for (int64_t rank : one.rankList)
      all.push_back(seconds[static_cast<size_t>(rank)]);
    std::sort(all.begin(), all.end());
    double typical = all.empty() ? 0 : all[(all.size() - 1) / 2];
    for (int64_t rank : one.rankList)
      if (double own = seconds[static_cast<size_t>(rank)]; own > 1.1 * typical && typical > 0)
        actual.stragglers.push_back({rank, one.stage, own, typical});
  }
  std::stable_sort(actual.stragglers.begin(), actual.stragglers.end(),
                   [](const auto &a, const auto &b) { return a.seconds / a.typical > b.seconds / b.typical; });
}

void findSlowSteps(const View &planned, const std::vector<Event> &events, MeasuredRun &actual) {
  std::map<std::pair<uint32_t, uint32_t>, StepTime> steps; // class, label
  for (const Event &event : events) {
    const ClassView &one = planned.classes[event.of];
    const ViewStep &step = one.fragments[one.tasks[event.task].fragment].steps[event.step];
    if (step.communicates())
      continue;
    double share = 1.0 / (static_cast<double>(one.rankList.size()) * static_cast<double>(actual.trainingSteps));
    StepTime &time = steps[{event.of, step.label}];
    ++time.count;
    time.planned += share * (step.end - step.begin);
    time.measured += share * (event.end - event.begin);
  }
  for (auto &[key, time] : steps) {
    time.stage = planned.classes[key.first].stage;
    time.name = planned.labels[key.second].text;
    time.place = planned.labels[key.second].place();
    time.count /= planned.classes[key.first].rankList.size() * static_cast<uint64_t>(actual.trainingSteps);
    actual.steps.push_back(time);
  }
  std::stable_sort(actual.steps.begin(), actual.steps.end(),
                   [](const auto &a, const auto &b) { return a.measured - a.planned > b.measured - b.planned; });
  if (actual.steps.size() > 10)
    actual.steps.resize(10);
}

void advise(const View &planned, MeasuredRun &actual) {
  const View &measured = actual.measured;
  std::vector<std::string> &advice = actual.advice;
  if (!actual.stragglers.empty()) {
    const Straggler &worst = actual.stragglers.front();
    advice.push_back(fmt::format("rank {} of stage {} computes {} per step, but its peers {}: they do the same work, so check the "
                                 "CPU or GPU that it runs on and what else runs there",
                                 worst.rank, worst.stage, humanTime(worst.seconds), humanTime(worst.typical)));
  }
  if (measured.classes.size() > 1) {
    auto slowest = std::max_element(measured.classes.begin(), measured.classes.end(),
                                    [](const auto &a, const auto &b) { return a.balance < b.balance; });
    if (slowest->balance > 1.15)
      advice.push_back(fmt::format("stage {} is busy {:.2f} times the mean of all stages (planned {:.2f}): give it fewer blocks, with "
                                   "stages [...] in the plan's pipeline rule",
                                   slowest->stage, slowest->balance,
                                   planned.classes[static_cast<size_t>(slowest - measured.classes.begin())].balance));
    if (measured.bubble > planned.bubble + 0.05)
      advice.push_back(fmt::format("the bubble is {:.1f} %, but {:.1f} % were planned: stages wait for each other longer; smaller "
                                   "micro-batches, or a schedule with more micro-batches in flight, reduce it",
                                   100 * measured.bubble, 100 * planned.bubble));
  }
  for (const KindTime &kind : actual.kinds) {
    if (kind.planned <= 0 || kind.measured < 0.05 * measured.span)
      continue;
    double ratio = kind.measured / kind.planned;
    std::string times = fmt::format("{:.{}f}", ratio, ratio < 10 ? 1 : 0);
    if (kind.computes && (ratio > 2 || ratio < 0.5))
      advice.push_back(
          fmt::format("{} steps take {} times their planned time, {:.3g} Gflop/s: the plan was made for another machine, so its "
                      "balance and bubble are less reliable",
                      kind.kind, times, kind.flops / kind.measured * 1e-9));
    // A receive is posted early and waits by design; a collective should not.
    if (!kind.computes && !kind.transfers && ratio > 3)
      advice.push_back(fmt::format("{} takes {:.0f} % of the step, {} times its planned time: ranks wait for the slowest of their group or "
                                   "for a worker",
                                   kind.kind, 100 * kind.measured / measured.span, times));
  }
  if (advice.empty())
    advice.push_back("plan and measurement agree: no straggler, no uneven stage, no kind of step above twice its planned time");
}

} // namespace

Result<MeasuredRun> measuredRunOf(const program::Program &program, const View &planned, const std::string &text, const std::string &name) {
  TraceReader reader(program, planned, name);
  if (Status status = reader.read(text); !status.ok())
    return status;
  MeasuredRun actual;
  actual.dropped = reader.dropped;
  actual.trainingSteps = keepWholeSteps(planned, reader.events);
  if (!actual.trainingSteps)
    return Status::badInput(
        fmt::format("'{}' has no complete training step{}", name,
                    reader.dropped ? "; it was truncated because of its size, so trace fewer steps: npar train --trace-steps 2" : ""));
  std::vector<std::vector<std::vector<Mean>>> means;
  for (const ClassView &one : planned.classes) {
    means.emplace_back();
    for (const ViewTask &task : one.tasks)
      means.back().emplace_back(one.fragments[task.fragment].steps.size());
  }
  for (const Event &event : reader.events) {
    Mean &mean = means[event.of][event.task][event.step];
    ++mean.count;
    mean.begin += (event.begin - mean.begin) / static_cast<double>(mean.count);
    mean.end += (event.end - mean.end) / static_cast<double>(mean.count);
  }
  actual.measured = planned;
  actual.measured.origin = "measured";
  actual.measured.timed = true;
  moveToMeasured(actual.measured, means);
  finishTimes(program, actual.measured);
  countKinds(planned, reader.events, actual);
  actual.exposed = exposedOf(planned, reader.events, actual.trainingSteps);
  findStragglers(planned, reader.events, actual);
  findSlowSteps(planned, reader.events, actual);
  advise(planned, actual);
  return actual;
}

} // namespace npar::show
