// Reads a program's root into a View.
#include "engine/show/View.h"

#include "engine/program/Classes.h"
#include "engine/program/Elements.h"
#include "engine/program/Ranks.h"
#include "engine/program/Steps.h"
#include "engine/program/Words.h"
#include "engine/show/CollectiveCauses.h"
#include "engine/show/CommonPath.h"
#include "engine/show/LiveMemory.h"
#include "engine/show/PayloadBytes.h"
#include "engine/show/RankList.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace npar::show {

using namespace npar::program;

namespace {

std::string axesText(const Program &program, const flatbuffers::Vector<uint32_t> &axes) {
  std::string text;
  for (uint32_t axis : axes)
    text += (text.empty() ? "" : ",") + program.mesh()->Get(axis)->name()->str();
  return text;
}

std::vector<ViewLabel> labelsOf(const Program &program) {
  std::vector<ViewLabel> labels;
  for (const Label *label : *program.labels()) {
    ViewLabel entry{label->text()->str(), label->path()->str(), "", 0, 0};
    if (const SourcePlace *source = label->source())
      entry.file = source->file()->str(), entry.line = source->line(), entry.column = source->column();
    labels.push_back(std::move(entry));
  }
  return labels;
}

ViewMessage messageOf(const Program &program, const RankClass &rankClass, const Step &step) {
  ViewMessage message;
  if (step.kind() == StepKind::Collective) {
    const Collective &collective = *program.collectives()->Get(step.payload());
    message.collective = collective.kind();
    message.kind = wordOf(collective.kind());
    message.over = axesText(program, *collective.axes());
    if (collective.cause())
      collective.cause()->UnPackTo(&message.cause);
    message.event = collective.event();
    message.from = collective.from()->str(), message.to = collective.to()->str();
    message.rules.assign(collective.rules()->begin(), collective.rules()->end());
    for (uint32_t axis : *collective.axes())
      message.members *= program.mesh()->Get(axis)->size();
  } else if (step.kind() == StepKind::Send || step.kind() == StepKind::Receive) {
    const Transfer &transfer = *program.transfers()->Get(step.payload());
    int64_t difference = static_cast<int64_t>(transfer.peer()) - fixedCoordinate(rankClass, transfer.axis());
    message.kind = wordOf(step.kind());
    message.over = fmt::format("{}{:+d}", program.mesh()->Get(transfer.axis())->name()->str(), difference);
    message.event = transfer.event();
    message.peerClass = static_cast<int32_t>(neighbourClass(program, rankClass, transfer.axis(), transfer.peer()));
  }
  return message;
}

/// A communicating step moves its payload; others read inputs and write outputs. `bytesOfPart`: of a collective.
uint64_t bytesOf(const Program &program, const Fragment &fragment, const Step &step, uint64_t (*bytesOfPart)(const Collective &)) {
  if (step.kind() == StepKind::Collective) {
    uint64_t bytes = 0;
    for (uint32_t part = 0; part < partsOf(step); ++part)
      bytes += bytesOfPart(*program.collectives()->Get(step.payload() + part));
    return bytes;
  }
  if (step.kind() == StepKind::Send || step.kind() == StepKind::Receive) {
    const Transfer &transfer = *program.transfers()->Get(step.payload());
    return transfer.count() * sizeOf(transfer.type());
  }
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < uint32_t(step.inputs() + step.outputs()); ++i)
    bytes += fragment.operands()->Get(step.first_operand() + i)->bytes();
  return bytes;
}

ViewFragment fragmentOf(const Program &program, const RankClass &rankClass, const Fragment &fragment) {
  ViewFragment result{fragment.name()->str(), fragment.phase(), fragment.chunk(), {}};
  for (const Step *step : *fragment.steps()) {
    ViewStep entry;
    entry.kind = step->kind();
    entry.label = step->label();
    entry.begin = step->begin(), entry.end = step->end();
    entry.flops = step->flops();
    entry.bytes = bytesOf(program, fragment, *step, balancedBytes), entry.worst = bytesOf(program, fragment, *step, worstBytes);
    for (uint32_t i = 0; i < step->dependency_count(); ++i)
      entry.dependencies.push_back(fragment.dependencies()->Get(step->first_dependency() + i));
    entry.message = messageOf(program, rankClass, *step);
    result.steps.push_back(std::move(entry));
  }
  return result;
}

ClassView classOf(const Program &program, const RankClass &rankClass) {
  ClassView view;
  view.name = rankClass.name()->str();
  view.rankList = ranksOf(program, rankClass);
  view.ranks = ranksText(runsOf(view.rankList));
  view.stage = rankClass.stage();
  view.arenaBytes = rankClass.arena_bytes();
  view.volume = stepVolumeOf(program, rankClass);
  for (const Fragment *fragment : *rankClass.fragments())
    view.fragments.push_back(fragmentOf(program, rankClass, *fragment));
  for (const Task *task : *rankClass.tasks())
    view.tasks.push_back({task->fragment(), task->micro(), task->begin(), task->end(), 0});
  for (const TaskDependency *wait : *rankClass.task_dependencies())
    view.waits.push_back({wait->task(), wait->step(), wait->on_task(), wait->on_step()});
  return view;
}

void countCollectives(const std::vector<ViewLabel> &labels, ClassView &view) {
  std::vector<uint64_t> times(view.fragments.size());
  for (const ViewTask &task : view.tasks)
    ++times[task.fragment];
  std::map<std::tuple<std::string, std::string, std::string, std::string>, CollectiveUse> uses;
  for (size_t index = 0; index < view.fragments.size(); ++index)
    for (const ViewStep &step : view.fragments[index].steps) {
      if (step.kind == StepKind::Send)
        view.sentBytes += times[index] * step.bytes;
      if (step.kind != StepKind::Collective || !times[index])
        continue;
      view.sentBytes += times[index] * sentBytes(step.message.collective, step.bytes, step.message.members);
      const ViewLabel &label = labels[step.label];
      std::string phase = lookOf(view.fragments[index].phase).word;
      CauseT cause = withoutPath(step.message.cause);
      auto [entry, isNew] = uses.try_emplace({step.message.kind, step.message.over, describe(cause), phase});
      CollectiveUse &use = entry->second;
      if (isNew)
        use = {step.message.kind, step.message.over, phase, step.message.cause, label.path, {}, 0, 0, 0};
      else if (use.cause.variable != step.message.cause.variable)
        use.cause = cause;
      use.path = isNew ? label.path : joinedPath(use.path, label.path);
      if (std::string place = label.place(); std::find(use.places.begin(), use.places.end(), place) == use.places.end())
        use.places.push_back(place);
      use.count += times[index];
      use.bytes += times[index] * step.bytes;
      use.seconds += static_cast<double>(times[index]) * (step.end - step.begin);
    }
  view.collectives.clear();
  for (auto &[key, use] : uses)
    view.collectives.push_back(std::move(use));
  std::stable_sort(view.collectives.begin(), view.collectives.end(), [](const auto &a, const auto &b) { return a.bytes > b.bytes; });
}

std::vector<uint32_t> byStage(const Program &program) {
  std::vector<uint32_t> order(program.classes()->size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return program.classes()->Get(a)->stage() < program.classes()->Get(b)->stage(); });
  return order;
}

/// Maps the program's class numbers to the view's.
void pointPeers(View &view) {
  std::vector<int32_t> place(view.classes.size());
  for (size_t index = 0; index < view.classes.size(); ++index)
    place[view.classes[index].programClass] = static_cast<int32_t>(index);
  for (ClassView &one : view.classes)
    for (ViewFragment &fragment : one.fragments)
      for (ViewStep &step : fragment.steps)
        if (step.message.peerClass >= 0)
          step.message.peerClass = place[static_cast<size_t>(step.message.peerClass)];
}

/// A program without times: every task takes a second, its steps share it.
void numberTasks(View &view) {
  view.timed = false;
  for (ClassView &one : view.classes) {
    for (size_t task = 0; task < one.tasks.size(); ++task)
      one.tasks[task].begin = static_cast<double>(task), one.tasks[task].end = static_cast<double>(task + 1);
    for (ViewFragment &fragment : one.fragments)
      for (size_t step = 0; step < fragment.steps.size(); ++step) {
        fragment.steps[step].begin = static_cast<double>(step) / static_cast<double>(fragment.steps.size());
        fragment.steps[step].end = static_cast<double>(step + 1) / static_cast<double>(fragment.steps.size());
      }
  }
}

void findBubble(View &view) {
  double first = -1, last = 0, busy = 0;
  for (ClassView &one : view.classes) {
    std::vector<double> collective(one.fragments.size());
    for (size_t index = 0; index < one.fragments.size(); ++index)
      for (const ViewStep &step : one.fragments[index].steps)
        if (step.kind == StepKind::Collective)
          collective[index] += step.end - step.begin;
    one.busy = one.communication = 0;
    for (const ViewTask &task : one.tasks) {
      if (!lookOf(one.fragments[task.fragment].phase).isWork)
        continue;
      first = first < 0 ? task.begin : std::min(first, task.begin);
      last = std::max(last, task.end);
      one.busy += task.end - task.begin;
      one.communication += collective[task.fragment];
    }
    busy += one.busy;
  }
  double window = last - first, classes = static_cast<double>(view.classes.size());
  for (ClassView &one : view.classes) {
    one.bubble = window > 0 ? std::max(0.0, 1 - one.busy / window) : 0;
    one.balance = busy > 0 ? one.busy * classes / busy : 1;
  }
  view.bubble = window > 0 ? std::max(0.0, 1 - busy / (window * classes)) : 0;
}

} // namespace

std::string ViewLabel::place() const {
  if (file.empty())
    return "";
  return fmt::format("{}:{}:{}", std::filesystem::path(file).filename().string(), line, column);
}

std::string ClassView::taskName(uint32_t task) const {
  const ViewFragment &fragment = fragments[tasks[task].fragment];
  return lookOf(fragment.phase).perMicro ? fmt::format("{}:{}", fragment.name, tasks[task].micro) : fragment.name;
}

std::string ClassView::ranksWithin(size_t width) const { return ranksText(runsOf(rankList), width); }

const char *stepWord(const Program &program) { return program.kind() == ProgramKind::Training ? "training step" : "step"; }

void finishTimes(const Program &program, View &view) {
  view.span = 0;
  for (const ClassView &one : view.classes)
    for (const ViewTask &task : one.tasks) {
      view.span = std::max(view.span, task.end);
      for (const ViewStep &step : one.fragments[task.fragment].steps)
        view.span = std::max(view.span, task.begin + step.end);
    }
  findBubble(view);
  for (ClassView &one : view.classes) {
    countCollectives(view.labels, one);
    findLiveMemory(program, *program.classes()->Get(one.programClass), view.labels, one);
  }
}

View viewOf(const Program &program) {
  View view;
  view.model = program.model()->str(), view.plan = program.plan()->str(), view.schedule = program.schedule()->str();
  view.world = worldOf(program), view.microCount = program.micro_count();
  view.step = stepWord(program), view.trains = program.kind() == ProgramKind::Training;
  for (const MeshAxis *axis : *program.mesh())
    view.mesh.emplace_back(axis->name()->str(), axis->size());
  view.labels = labelsOf(program);
  double last = 0;
  std::set<uint32_t> stages;
  for (uint32_t index : byStage(program)) {
    view.classes.push_back(classOf(program, *program.classes()->Get(index)));
    view.classes.back().programClass = index;
    stages.insert(view.classes.back().stage);
    for (const ViewTask &task : view.classes.back().tasks)
      last = std::max(last, task.end);
  }
  pointPeers(view);
  std::string pipeline = stages.size() == 1 ? "1 stage" : fmt::format("{} stages, {}", stages.size(), view.schedule);
  view.title = fmt::format("{} under plan {}: {}, {} micro-batch{}", view.model, view.plan, pipeline, view.microCount,
                           view.microCount == 1 ? "" : "es");
  if (last <= 0)
    numberTasks(view);
  finishTimes(program, view);
  return view;
}

} // namespace npar::show
