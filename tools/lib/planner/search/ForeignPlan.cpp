// Makes a plan of a run as the search has them, and simulates it.
#include "tools/lib/planner/search/ForeignPlan.h"

#include "dsl/Suggestions.h"
#include "dsl/machine/Hosts.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/lib/planner/search/EnumerateCandidates.h"
#include "tools/lib/planner/simulate/Prediction.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace npar::planner {

using engine::Status;

namespace {

RecomputedBlocks recomputedBy(const foreign::ForeignRun &run) {
  RecomputedBlocks blocks;
  if (run.recompute.empty())
    return blocks;
  blocks.kind = run.recompute == "block" ? dsl::RecomputeKind::Block : dsl::RecomputeKind::Every;
  if (const std::string every = "every "; run.recompute.rfind(every, 0) == 0)
    std::from_chars(run.recompute.data() + every.size(), run.recompute.data() + run.recompute.size(), blocks.every);
  return blocks;
}

/// The candidate that is nearest to the run's plan.
Candidate candidateOf(const foreign::ForeignRun &run, const PlanTask &task) {
  Candidate one;
  one.dp = run.dp * run.replicas, one.ep = run.ep, one.pp = run.pp, one.cp = run.cp, one.tp = run.tp, one.micro = run.micro;
  if (run.pp > 1)
    one.schedule = schedules::findSchedule(run.schedule), one.chunks = run.chunks;
  if (run.cp > 1)
    one.context = run.ring == "ring(zigzag)" ? Context::Zigzag : run.ring == "ring" ? Context::Ring : Context::Gather;
  one.recompute = recomputedBy(run);
  if (run.bucketBytes > 0 && one.dp * one.cp > 1)
    one.bucket = run.bucketBytes;
  if (one.dp * one.cp > 1)
    one.zero = static_cast<int>(run.zero);
  one.sequence = run.sequenceParallel && run.tp > 1;
  if (!run.dpOutside && placesApart(task, one))
    one.place = PlaceOrder::StagesApart;
  return one;
}

std::vector<std::string> aloneIn(const foreign::ForeignRun &run) {
  std::vector<std::string> words;
  if (run.pp > 1 && !run.stages.empty())
    words.push_back(fmt::format("stages [{}]", fmt::join(run.stages, ", ")));
  if (run.zero > 0 && run.replicas > 1)
    words.push_back(fmt::format("shares in {} replicas", run.replicas));
  if (run.secondaryGroups() > 1)
    words.push_back(fmt::format("second shares of parameters over {} ranks", run.secondaryRanks));
  if (run.zero > 0 && run.cp > 1 && run.storeOverContext)
    words.push_back("shares over context parallelism too");
  if (run.expertsOverContext)
    words.push_back("experts shared over context parallelism too");
  if (run.zero >= 2 && run.dp * run.cp > 1 && run.gradientsPerStep)
    words.push_back("gradients reduced once per step");
  return words;
}

} // namespace

engine::Result<foreign::ForeignModel> runFor(const foreign::ForeignRequest &run, TaskRequest &request, engine::Observer &observer) {
  TRY(dsl::Machine machine, readMachineFile(request.model.machine, observer));
  TRY_STATUS(limitDevices(machine, request.model.devices));
  foreign::RunChanges changes;
  changes.batch = request.batch;
  if (std::optional<std::string> batch = models::takeSetting(request.model.settings, "batch")) {
    if (request.batch)
      return Status::usage("--batch and --set batch mean the same: give only one");
    const char *end = batch->data() + batch->size();
    if (auto read = std::from_chars(batch->data(), end, changes.batch); read.ec != std::errc() || read.ptr != end || changes.batch < 1)
      return Status::usage("with --from, '--set batch' is a whole number of at least 1, not '" + *batch + "'");
  }
  if (std::optional<std::string> compute = models::takeSetting(request.model.settings, "compute")) {
    std::vector<std::string> words = floatWords();
    if (std::find(words.begin(), words.end(), *compute) == words.end())
      return Status::usage("'compute' is " + dsl::joined(words) + ", not '" + *compute + "'");
    changes.compute = *compute;
  }
  int64_t devices = request.hosts * static_cast<int64_t>(machine.ranks);
  TRY(foreign::ForeignModel model, foreign::modelOfRun(run, request.model, devices, observer, changes));
  if (request.hosts == 0 && !dsl::isUneven(machine))
    request.hosts = hostsFor(machine, model.run.world);
  return model;
}

engine::Result<ForeignPlan> foreignPlanOf(const foreign::ForeignRequest &request, foreign::ForeignModel model, const PlanTask &task,
                                          const Choices &fixes, const ParallelWork &work) {
  ForeignPlan own;
  own.request = request, own.model = std::move(model);
  const foreign::ForeignRun &run = own.model.run;
  int64_t ranks = task.ranks();
  own.tried.candidate = candidateOf(run, task), own.tried.text = own.model.text;
  own.alone = aloneIn(run);
  own.fills = run.world == ranks;
  TRY(PlanTypes types, PlanTypes::of(run.precision, run.gradients, run.reduce));
  if (task.types.gradients != types.gradients)
    own.alone.push_back("gradients " + (run.gradients.empty() ? run.precision : run.gradients));
  if (run.world > ranks) {
    own.tried.attempt.reason = fmt::format("it takes {} devices, and there are {}", run.world, ranks);
    return own;
  }
  TRY_STATUS(tryPlans({own.model.options}, {task.machine, 0, /*lanes=*/true}, work, [&](size_t, const Attempt &attempt) {
    own.tried.attempt = attempt;
    return true;
  }));
  Choices choices = choicesOf(own.tried.candidate);
  for (const auto &[key, value] : fixes)
    for (const auto &[name, mine] : choices)
      if (name == key && !isSameValue(mine, value))
        own.barred = fmt::format("--fix says '{} = {}', it has {}", key, value, mine);
  return own;
}

void consider(const ForeignPlan &own, PlanGoal goal, SearchResult &result) {
  bool isThere = std::any_of(result.tried.begin(), result.tried.end(), [](const Tried &tried) { return !tried.text.empty(); });
  if (isThere || !own.barred.empty())
    return;
  result.tried.push_back(own.tried);
  std::optional<double> figure = goalOf(own.tried, goal);
  if (figure && (result.best < 0 || *figure < *goalOf(result.tried[static_cast<size_t>(result.best)], goal)))
    result.best = static_cast<int>(result.tried.size()) - 1;
}

} // namespace npar::planner
