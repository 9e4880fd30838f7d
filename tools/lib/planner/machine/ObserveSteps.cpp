// The counts of a step come from the cost model itself. It is linear in the times of the figures, so a machine in which a single thing
// costs a second shows how much of it each step has. No formula is repeated here.
#include "tools/lib/planner/machine/ObserveSteps.h"

#include "dsl/machine/Machine.h"
#include "engine/data/DataSource.h"
#include "engine/logging/Trace.h"
#include "engine/runtime/Session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace npar::planner {
namespace {

using dsl::Machine;
using program::StepKind;

constexpr int mostSteps = 200;
constexpr size_t probes = 5; ///< the most unknowns of a group
constexpr double endless = std::numeric_limits<double>::infinity();

/// A machine with one core that takes no time for anything.
Machine idleMachine(double cacheSize, double nearSize) {
  Machine machine;
  machine.name = "probe";
  machine.cores = machine.ranks = 1;
  machine.cache.bandwidth = machine.near = machine.far = machine.move = machine.link(dsl::LinkLevel::Host).bandwidth = endless;
  machine.cache.size = cacheSize, machine.nearSize = nearSize;
  for (auto &product : machine.products)
    product.rate = endless;
  for (auto *list : {&machine.attentions, &machine.gradients})
    for (auto &attention : *list)
      attention.rate = endless;
  return machine;
}

/// A machine in which the unknown number `probe` of each group takes a second. In products and attention the first unknown takes a second
/// too, because the others multiply it.
Machine probeMachine(size_t probe, double cacheSize, double nearSize) {
  Machine machine = idleMachine(cacheSize, nearSize);
  for (auto &product : machine.products) {
    product.rate = 1;
    if (probe > 0 && probe <= 3)
      (probe == 1 ? product.rows : probe == 2 ? product.columns : product.depth) = 1;
  }
  for (auto *list : {&machine.attentions, &machine.gradients})
    for (auto &attention : *list) {
      attention.rate = 1;
      attention.rows = probe == 1;
    }
  if (probe == 0)
    machine.cache.bandwidth = machine.near = machine.move = machine.link(dsl::LinkLevel::Host).bandwidth = 1;
  if (probe == 1)
    machine.far = machine.link(dsl::LinkLevel::Host).latency = 1;
  if (probe == 2)
    machine.operation = 1;
  if (probe == 3)
    machine.function = 1;
  if (probe == 4)
    machine.near = 1;
  return machine;
}

StepGroup::Kind attentionKind(const program::Attention &attention) {
  return attention.gradient() ? StepGroup::Kind::AttentionGradient : StepGroup::Kind::Attention;
}

std::optional<StepGroup> groupOf(const program::Program &program, const program::Step &step) {
  using Kind = StepGroup::Kind;
  switch (step.kind()) {
  case StepKind::Kernel:
    return StepGroup{Kind::Kernel};
  case StepKind::Matmul:
    return StepGroup{Kind::Product, program.matmuls()->Get(step.payload())->type()};
  case StepKind::Attention:
    return StepGroup{attentionKind(*program.attentions()->Get(step.payload())), program.attentions()->Get(step.payload())->type()};
  case StepKind::Zero:
  case StepKind::Copy:
    return StepGroup{Kind::Move};
  case StepKind::Collective:
    return StepGroup{Kind::Collective};
  case StepKind::Send:
  case StepKind::Receive:
    break;
  }
  return std::nullopt;
}

bool multipliesTheFirst(StepGroup::Kind kind) {
  return kind == StepGroup::Kind::Product || kind == StepGroup::Kind::Attention || kind == StepGroup::Kind::AttentionGradient;
}

/// The steps of all tasks of a rank of the first class, by task and step.
template <typename Visit> void forEachStep(const program::Program &program, Visit visit) {
  const program::RankClass &rankClass = *program.classes()->Get(0);
  for (uint32_t task = 0; task < rankClass.tasks()->size(); ++task) {
    const auto &steps = *rankClass.fragments()->Get(rankClass.tasks()->Get(task)->fragment())->steps();
    for (uint32_t step = 0; step < steps.size(); ++step)
      visit(task, step, *steps.Get(step));
  }
}

/// The lower quartile: other work on the machine makes steps longer, never shorter.
double lowerQuarter(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 4), values.end());
  return values[values.size() / 4];
}

struct Times {
  std::map<std::pair<uint32_t, uint32_t>, double> steps; ///< seconds by task and step, where they were traced
  double whole = 0;                                      ///< seconds of the fastest training step
};

/// Trains for `count` steps, and longer until `seconds` are over; the first one warms up.
engine::Result<Times> run(const models::ProgramPointer &program, int threads, int count, double seconds, const std::string &backend,
                          bool traced) {
  engine::Trace trace;
  engine::SessionOptions options;
  options.threads = threads;
  options.backend = backend;
  options.trace = traced ? &trace : nullptr;
  TRY(std::unique_ptr<engine::Session> session, engine::Session::create(program, options));
  auto data = engine::DataSource::random(1, engine::BatchShape::of(program->root()));
  Times times;
  double spent = 0;
  for (int step = 0; step <= count || (spent < seconds && step < mostSteps); ++step) {
    engine::Batch batch = data->batch(step);
    auto begun = std::chrono::steady_clock::now();
    engine::Result<engine::StepResult> done = session->step(batch, step);
    double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    spent += took;
    if (!done.ok())
      return done.status();
    if (step > 0)
      times.whole = step == 1 ? took : std::min(times.whole, took);
  }
  // A collective's time starts when its last member arrives.
  std::map<std::tuple<uint32_t, uint32_t, int64_t>, std::pair<double, double>> spans;
  for (const engine::TraceEvent &event : trace.events())
    if (event.trainingStep > 0) {
      auto [span, isNew] = spans.try_emplace({event.task, event.step, event.trainingStep}, event.begin, event.end);
      if (!isNew)
        span->second = {std::max(span->second.first, event.begin), std::max(span->second.second, event.end)};
    }
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> all;
  for (const auto &[key, span] : spans)
    all[{std::get<0>(key), std::get<1>(key)}].push_back(span.second - span.first);
  for (auto &[key, seconds] : all)
    times.steps[key] = lowerQuarter(std::move(seconds));
  return times;
}

/// The plan's time of each step, in the order of forEachStep.
std::vector<double> plannedTimes(const program::Program &program) {
  std::vector<double> times;
  forEachStep(program, [&](uint32_t, uint32_t, const program::Step &step) { times.push_back(step.end() - step.begin()); });
  return times;
}

} // namespace

engine::Result<Observed> observe(const Workload &workload, double cacheSize, double nearSize, int cores, engine::Observer &observer) {
  models::ModelOptions model;
  model.model = workload.model;
  model.plan = workload.plan;
  TRY(models::ElaboratedModel text, models::elaborateModel(model, observer, workload.settings, /*withWarnings=*/false));
  std::vector<std::vector<double>> counts;
  for (size_t probe = 0; probe < probes; ++probe) {
    text.program.machine = std::make_shared<const Machine>(probeMachine(probe, cacheSize, nearSize));
    TRY(models::ProgramPointer planned, text.compilation->compile(text.program, /*withoutKernels=*/true));
    counts.push_back(plannedTimes(planned->root()));
  }
  TRY(models::ProgramPointer program, text.compilation->compile(text.program));
  bool alone = workload.plan == "none";
  TRY(Times traced, run(program, alone ? 1 : cores, workload.steps, workload.seconds, "cpu", /*traced=*/true));

  Observed observed;
  size_t index = 0;
  forEachStep(program->root(), [&](uint32_t task, uint32_t number, const program::Step &step) {
    size_t at = index++;
    auto time = traced.steps.find({task, number});
    std::optional<StepGroup> group = groupOf(program->root(), step);
    bool other = group && group->kind == StepGroup::Kind::Kernel && isWide(program->root().compute());
    if (!group || other || time == traced.steps.end() || alone == (group->kind == StepGroup::Kind::Collective))
      return;
    Equation equation;
    equation.seconds = time->second;
    for (size_t unknown = 0; unknown < unknownsOf(group->kind); ++unknown)
      equation.counts.push_back(group->kind == StepGroup::Kind::Move && unknown == 1
                                    ? 1
                                    : counts[unknown][at] - (unknown > 0 && multipliesTheFirst(group->kind) ? counts[0][at] : 0));
    observed.equations[*group].push_back(std::move(equation));
  });
  if (!alone)
    return observed;
  for (const auto &[key, seconds] : traced.steps)
    observed.spread.steps.push_back(seconds);
  TRY(Times spread, run(program, cores, workload.steps, 2 * workload.seconds, "cpu", /*traced=*/false));
  observed.spread.whole = spread.whole;
  TRY(Times null, run(program, cores, 20 * workload.steps, 0, "null", /*traced=*/false));
  observed.launch = null.whole / static_cast<double>(std::max<size_t>(observed.spread.steps.size(), 1));
  return observed;
}

} // namespace npar::planner
