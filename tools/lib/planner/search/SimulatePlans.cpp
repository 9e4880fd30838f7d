// Compiles and simulates plans in a pool of threads. The compiler has no global state that changes: each plan has a context of its own.
#include "tools/lib/planner/search/SimulatePlans.h"

#include "dsl/machine/Hosts.h"
#include "engine/program/Ranks.h"
#include "engine/readable/Printable.h"
#include "engine/show/View.h"
#include "engine/status/Thrown.h"
#include "tools/lib/annotate/RepeatedBlocks.h"
#include "tools/lib/models/Compilation.h"
#include "tools/lib/planner/search/CompactTimeline.h"
#include "tools/lib/planner/simulate/Prediction.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <system_error>
#include <thread>

namespace npar::planner {

using annotate::blocksOfStages;

namespace {

using engine::Result;
using engine::Status;

/// The blocks of each stage, and the kinds of hosts that its ranks are on.
std::vector<StageDeal> dealOf(const std::vector<size_t> &blocks, const Prediction &prediction) {
  std::vector<StageDeal> stages;
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    stages.push_back({blocks[stage], {}});
    for (const KindShare &kind : prediction.kinds)
      if (kind.stages.count(static_cast<uint32_t>(stage)))
        stages.back().kinds.push_back(kind.name);
  }
  return stages;
}

StepFigures figuresOf(const Prediction &prediction) {
  StepFigures figures;
  figures.ranks = prediction.ranks, figures.hosts = prediction.hosts;
  figures.seconds = prediction.seconds, figures.memory = prediction.memory, figures.fullest = prediction.fullest;
  if (prediction.worst > 0)
    figures.worst = prediction.worst;
  if (prediction.peak > 0)
    figures.mfu = prediction.mfu(), figures.hfu = prediction.hfu();
  if (prediction.price > 0)
    figures.dollars = prediction.price * prediction.seconds / 3600;
  if (prediction.room > 0)
    figures.room = prediction.room - prediction.allowance, figures.fits = prediction.fits();
  figures.bubble = prediction.bubble, figures.exposed = prediction.exposed;
  figures.flops = prediction.flops.model;
  figures.batch = prediction.batch;
  for (const cost::ClassTime &time : prediction.simulation.classes)
    if (time.reducing > figures.reducing)
      figures.reducing = time.reducing, figures.reducingExposed = time.reducingExposed;
  return figures;
}

/// Ends the compilation of a plan whose figures are no longer needed.
class UntilOver final : public engine::Observer {
public:
  explicit UntilOver(const std::atomic<bool> &over) : over(over) {}
  bool wantsToStop() override { return over; }

private:
  const std::atomic<bool> &over;
};

/// Simulates a step of a compiled program; `model` is what it was compiled from.
Result<StepFigures> figuresOf(const program::Program &program, const dsl::Program &model, const AttemptOptions &options) {
  TRY(std::vector<program::HostRoom> rooms, roomsFor(options.machine, program::worldOf(program), options.hosts));
  TRY(std::vector<std::vector<int64_t>> places, placeOnHosts(program, program::placeOf(program), rooms));
  TRY(Prediction prediction, predict(program, options.machine, places));
  StepFigures figures = figuresOf(prediction);
  if (dsl::isUneven(options.machine))
    figures.stages = dealOf(blocksOfStages(program, model.model.repeats), prediction);
  if (options.lanes)
    figures.lanes = compactTimeline(program, prediction.simulation);
  if (options.sent)
    for (const show::ClassView &each : show::viewOf(program).classes)
      figures.sent = std::max(figures.sent.value_or(0), static_cast<double>(each.sentBytes));
  return figures;
}

Result<StepFigures> figuresFor(const ModelOptions &model, const AttemptOptions &options, bool asDraft, const std::atomic<bool> &over) {
  UntilOver observer(over);
  TRY(models::ElaboratedModel text, models::elaborateModel(model, observer));
  int64_t ranks = 1;
  for (const dsl::MeshAxis &axis : text.program.plan.mesh)
    ranks *= axis.size;
  if (int64_t needed = dsl::hostsFor(options.machine, ranks);
      options.hosts != 0 && needed != options.hosts) // before it takes time to compile
    return Status::badInput(fmt::format("takes {} host{}", needed, needed == 1 ? "" : "s"));
  if (options.hosts != 0 && ranks != dsl::placesOf(options.machine, options.hosts))
    return Status::badInput(fmt::format("{} ranks leave places on the last host empty", ranks));
  if (asDraft) {
    TRY(compiler::DraftProgram draft, text.compilation->compileDraft(text.program));
    return figuresOf(draft.root(), text.program, options);
  }
  TRY(models::ProgramPointer compiled, text.compilation->compile(text.program, /*withoutKernels=*/true));
  return figuresOf(compiled->root(), text.program, options);
}

/// The first error of a report with locations; `atKey`: its location is the key of a setting, so nothing knows that key.
std::string firstError(const std::string &report, bool &atKey) {
  size_t begin = report.find("error: ");
  if (begin == std::string::npos)
    return "";
  size_t line = report.rfind('\n', begin);
  line = line == std::string::npos ? 0 : line + 1;
  atKey = report.compare(line, 10, "--set:1:1:") == 0;
  return report.substr(begin + 7, report.find('\n', begin) - begin - 7);
}

Attempt refusedBy(const Status &status) {
  Attempt attempt;
  bool atKey = false;
  if (status.isLocated())
    attempt.reason = firstError(status.message(), atKey);
  else
    attempt.reason = readable::printable(status.message().substr(0, status.message().find('\n')));
  attempt.isUsage = status.code() == engine::Code::Usage || atKey;
  if (attempt.reason.empty())
    attempt.reason = fmt::format("exit code {} without a message", static_cast<int>(status.code()));
  return attempt;
}

Attempt tryPlan(const ModelOptions &model, const AttemptOptions &options, bool asDraft, const std::atomic<bool> &over) {
  try {
    Result<StepFigures> figures = figuresFor(model, options, asDraft, over);
    if (!figures.ok())
      return refusedBy(figures.status());
    Attempt attempt;
    attempt.figures = std::move(*figures);
    return attempt;
  } catch (...) {
    return refusedBy(engine::statusOfThrown());
  }
}

/// Threads that take one plan after the other. The destructor waits for the plans that are being compiled.
class Pool {
public:
  Pool(const std::vector<ModelOptions> &plans, const AttemptOptions &options) : plans(plans), options(options), finished(plans.size()) {}
  ~Pool() {
    over = true;
    for (std::thread &thread : threads)
      thread.join();
  }
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  /// Fewer threads than asked for are enough; RunFailed if the system gives none.
  Status start(size_t count) {
    for (size_t i = 0; i < count; ++i)
      try {
        threads.emplace_back([this] { work(); });
      } catch (const std::system_error &error) {
        return threads.empty() ? Status::runFailed(std::string("a plan cannot be tried: cannot start a thread: ") + error.what())
                               : Status();
      }
    return {};
  }

  /// The result of a plan; nothing if it is not there after a moment.
  std::optional<Attempt> wait(size_t plan) {
    std::unique_lock<std::mutex> lock(mutex);
    ready.wait_for(lock, std::chrono::milliseconds(50), [&] { return finished[plan].has_value(); });
    return std::move(finished[plan]);
  }

private:
  void work() {
    for (size_t number; !over && (number = next++) < plans.size();) {
      size_t plan = options.order.empty() ? number : options.order[number];
      Attempt attempt = tryPlan(plans[plan], options, plan >= options.verified, over);
      std::lock_guard<std::mutex> lock(mutex);
      finished[plan] = std::move(attempt);
      ready.notify_one();
    }
  }

  const std::vector<ModelOptions> &plans;
  const AttemptOptions &options;
  std::atomic<size_t> next{0};
  std::atomic<bool> over{false};
  std::mutex mutex;
  std::condition_variable ready;
  std::vector<std::optional<Attempt>> finished; ///< guarded by `mutex`
  std::vector<std::thread> threads;
};

} // namespace

Status tryPlans(const std::vector<ModelOptions> &plans, const AttemptOptions &options, const ParallelWork &work,
                const std::function<bool(size_t, const Attempt &)> &done) {
  Pool pool(plans, options);
  size_t jobs = work.jobs > 0 ? static_cast<size_t>(work.jobs) : std::max(1u, std::thread::hardware_concurrency());
  TRY_STATUS(pool.start(std::min(jobs, plans.size())));
  for (size_t told = 0; told < plans.size();) {
    if (work.check)
      TRY_STATUS(work.check(told, plans.size()));
    if (std::optional<Attempt> attempt = pool.wait(told))
      if (!done(told++, *attempt))
        break;
  }
  return {};
}

} // namespace npar::planner
