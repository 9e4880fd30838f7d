// A run of `npar train`: opens all files and sessions in all processes, trains, and writes the results.
#include "tools/npar/train/RunFlags.h"

#include "compiler/cost/CostModel.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Weights.h"
#include "engine/json/Json.h"
#include "engine/logging/Trace.h"
#include "engine/program/Precision.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"
#include "engine/runtime/MemoryRoom.h"
#include "engine/runtime/NotFinite.h"
#include "engine/runtime/Session.h"
#include "engine/training/EpochSummary.h"
#include "engine/training/RunCheckpoints.h"
#include "engine/training/TrainedClasses.h"
#include "engine/training/Trainer.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/npar/job/CheckSameFiles.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/terminal/Progress.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/TrainSummary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// "epoch 2/4  loss 0.4127  eval loss 0.398211, accuracy 0.8586 over 99 samples  5,120 samples/s  1.3 s  best"
std::string rowText(const engine::EpochRecord &row, double epochs, const std::string &unit, const RunEvaluations &evaluations) {
  std::string text = fmt::format("epoch {}/{}  loss {:.4f}", row.epoch, epochs, row.loss);
  if (!row.values.empty())
    text += "  eval " + evaluations.text();
  return text + fmt::format("  {} {}/s  {:.1f} s{}", grouped(row.perSecond), unit, row.seconds, row.best ? "  best" : "");
}

double secondsSince1970() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// FLOP/s that matrix products reach by the machine's measured figures, on all machines that the program's ranks use; 0: unknown.
double peakOf(const RunFlags &flags, const Job &job, const program::Program &program) {
  if (!flags.model.machine || !job.isVoice() || flags.logs.empty())
    return 0;
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(*flags.model.machine, terminal()));
  size_t here = job.ranksOnHost(program).size(), world = static_cast<size_t>(program::worldOf(program));
  return machine.ok() ? cost::productPeak(*machine, program.compute(), program::multipliesInTf32(program)) *
                            static_cast<double>(here ? (world + here - 1) / here : 1)
                      : 0;
}

/// The columns of the logs.
engine::LogShape logShapeOf(const program::Program &program, const std::string &unit, const RunEvaluations &evaluations,
                            const RunClock &clock) {
  engine::LogShape result{unit, {}, engine::namedLosses(program), evaluations.names(), engine::loggedNames(program)};
  result.epochs = clock.epochs().has_value();
  for (uint32_t i = 0; program.groups() && i < program.groups()->size(); ++i)
    result.groups.push_back(program.groups()->Get(i)->str());
  return result;
}

/// A row for each save that has failed since the last call.
void logFailedSaves(RunLogs &logs, RunCheckpoints &checkpoints, Training &training) {
  for (const engine::FailedSaveRecord &failed : checkpoints.takeFailures())
    if (training.log.ok())
      training.log = logs.append(failed);
}

/// Shows, logs, evaluates and saves between the steps of a run.
class RunObserver final : public training::TrainingObserver {
public:
  RunObserver(const RunFlags &flags, const program::Program &program, const RunClock &clock, RunLogs &logs, RunCheckpoints &checkpoints,
              RunEvaluations &evaluations, RunTuning &tuning, Training &training)
      : flags(flags), program(program), clock(clock), logs(logs), checkpoints(checkpoints), evaluations(evaluations), tuning(tuning),
        training(training), summary(clock, evaluations) {}

  /// `peak`: see peakOf. The session evaluates too.
  void begin(const engine::Session &own, double peakOfMachine) {
    session = &own, peak = peakOfMachine;
    products = own.productOrder() ? program::wordOf(*own.productOrder()) : "";
    if (products == checkpoints.productsBefore()) // the log to continue has it
      products.clear();
    progress = std::make_unique<Progress>(clock.steps(), training.unit, !flags.quiet, flags.device.backend != "null");
    stopWhenAsked(checkpoints.wanted() ? "after this step and a checkpoint" : "after this step", flags.quiet);
  }
  void end() { progress->finish(); }
  const std::vector<engine::EpochRecord> &epochs() const { return summary.all(); }

  std::string wantsToEnd() override {
    const char *signal = stopSignal();
    return !training.log.ok() ? training::StepNote::cannotWrite : signal ? signal : "";
  }

  engine::Session &runs(engine::Session &own) override { return tuning.steps.runs(own); }

  void finished(const training::StepReport &report) override {
    progress->update(report.step + 1, report.result.loss, report.perSecond, report.epochsDone);
    training.log = logs.append(recordOf(report));
    summary.add(report);
  }

  Result<bool> between(int64_t done, const training::StepReport &report) override {
    TRY(bool tuned, tuning.steps.record(*session, tuning.seconds(report.seconds)));
    if (tuned) {
      checkpoints.keepTuned({tuning.setting()});
      if (!flags.quiet) {
        progress->finish();
        printRemark(tuning.text(program.plan()->str()));
      }
    }
    if (evaluations.isDue(done)) {
      Status evaluated = evaluations.run(*session, program, done);
      if (!evaluated.ok())
        progress->finish();
      TRY_STATUS(evaluated);
      if (training.log.ok())
        training.log = logs.append(evaluations.record());
    }
    showEvaluation(done);
    training.checkpoint = checkpoints.afterStep(done, report.result.learningRate);
    if (training.checkpoint.ok() && evaluations.isDue(done) && evaluations.isBest())
      training.checkpoint = checkpoints.keepBest(done, evaluations.watched(), evaluations.best());
    logFailedSaves(logs, checkpoints, training);
    return evaluations.isStuck() || !training.checkpoint.ok();
  }

private:
  /// Shows the evaluation after `done` steps, if there was one: in the summary of the epoch that ends there, or else alone.
  void showEvaluation(int64_t done) {
    if (std::optional<engine::EpochRecord> row = summary.take(done)) {
      if (flags.device.backend != "null")
        progress->say(rowText(*row, *clock.epochs(), training.unit, evaluations));
      if (training.log.ok())
        training.log = logs.append(*row);
    } else if (evaluations.isDue(done) && !flags.quiet) {
      progress->finish();
      printRemark(fmt::format("evaluation after {} steps: {}", done, evaluations.text()));
    }
  }

  /// The row of the log. The first row has the order of products.
  engine::StepRecord recordOf(const training::StepReport &report) {
    const engine::StepResult &result = report.result;
    engine::StepRecord record;
    record.step = report.step;
    record.loss = report.loss, record.gradNorm = report.gradNorm, record.learningRate = report.learningRate;
    record.amount = report.amount, record.perSecond = report.perSecond;
    record.lossScale = result.lossScale, record.skipped = result.skipped, record.validTokens = result.validTokens;
    record.batchHash = report.batchHash, record.epoch = report.epoch, record.sample = report.samplesIntoEpoch;
    if (flags.device.backend != "null")
      record.flopsPerSecond = program.flops() / std::max(report.seconds, 1e-9);
    if (peak > 0)
      record.peakShare = record.flopsPerSecond / peak;
    record.groupNorms = result.groupNorms, record.logged = report.logged;
    for (size_t i = 0; i < result.losses.size(); ++i)
      record.losses.push_back({report.losses[i], result.losses[i].counted});
    record.time = secondsSince1970(), record.dataWait = report.waited;
    record.products = std::exchange(products, "");
    return record;
  }

  const RunFlags &flags;
  const program::Program &program;
  const RunClock &clock;
  RunLogs &logs;
  RunCheckpoints &checkpoints;
  RunEvaluations &evaluations;
  RunTuning &tuning;
  Training &training;
  training::EpochSummary summary;
  const engine::Session *session = nullptr;
  std::unique_ptr<Progress> progress;
  double peak = 0;      ///< FLOP/s; 0: unknown
  std::string products; ///< order of products of bf16, until it is logged
};

Result<std::unique_ptr<engine::Session>> createSession(Job &job, const ProgramPointer &program, engine::SessionOptions options) {
  Waiting waiting("setting up");
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  return job.createSession(program, options);
}

/// Finds the weights of --weights: in a folder of checkpoints the newest one that process 0 sees.
Outcome<std::string> findWeights(const RunFlags &flags, Job &job) {
  return reported(job.decide([&]() -> Result<std::string> {
    if (flags.weights.empty() || !engine::isCheckpoint(flags.weights))
      return flags.weights;
    TRY(std::shared_ptr<const engine::CheckpointStore> store, engine::openCheckpointStore(flags.weights));
    return store->folder();
  }));
}

/// Gives the parameters what --weights names. `classes`: names of those of the data.
ExitCode load(const std::string &weights, const RunFlags &flags, engine::Session &session, const program::Program &program,
              const std::vector<std::string> &classes) {
  std::optional<engine::GivenSettings> given = flags.model.given();
  if (std::string others = given ? engine::otherSettings(weights, *given) : ""; !others.empty() && !flags.quiet)
    printRemark(fmt::format("warning: the settings differ from those when '{}' was written: {}", weights, others));
  if (flags.fresh.empty() && !flags.quiet)
    if (std::string text = engine::classDifference({"these data", classes}, training::trainedClasses(weights)); !text.empty())
      printRemark("warning: " + text + "; --fresh PATTERN gives a head its initial values");
  Result<engine::UnstoredParameters> unstored = [&] {
    Waiting waiting("loading '" + weights + "'");
    return engine::loadWeights(session, program, weights, flags.fresh, flags.parts);
  }();
  if (!unstored.ok())
    return fail(unstored.status());
  if (std::string text = unstored->text(weights); !text.empty())
    printRemark(text);
  return ExitCode::Good;
}

/// Opens the data in every process, and checks that they fit the program and the checkpoint to resume from.
ExitCode lookAtData(const RunFlags &flags, const program::Program &program, const engine::DataPlan *plan, const engine::BatchShape &shape,
                    RunCheckpoints &checkpoints, std::unique_ptr<engine::DataSource> &data) {
  uint64_t seed = checkpoints.seed(program);
  Result<std::unique_ptr<engine::DataSource>> opened =
      plan ? engine::DataSource::open(*plan, seed, shape) : engine::DataSource::random(seed, shape);
  if (!opened.ok())
    return fail(opened.status());
  data = std::move(*opened);
  if (!flags.quiet)
    for (const std::string &text : data->remarks())
      printRemark(text);
  return reported(checkpoints.goOn(program, *data, shape));
}

/// Checks that the run's length fits the learning rates and the intervals of flags, and reports both in steps.
Status checkLength(const RunFlags &flags, const program::Program &program, const RunClock &clock) {
  for (auto [flag, interval] : {std::pair("--eval-every", &flags.evalEvery), std::pair("--checkpoint-every", &flags.every)})
    if (interval->isInEpochs() && !clock.hasEpochs())
      return Status::badInput(fmt::format("{} is in epochs, but these data have none: give a number of steps", flag));
  TRY_STATUS(engine::checkRates(program, clock.length()));
  if (flags.quiet)
    return {};
  if (clock.epochs())
    printRemark(fmt::format("{}{} epoch{}: {} steps, an epoch takes {}",
                            flags.epochs ? "" : fmt::format("train block '{}' asks for ", program.train()->str()), *clock.epochs(),
                            *clock.epochs() == 1 ? "" : "s", clock.steps(), std::round(1000 * clock.stepsPerEpoch()) / 1000));
  for (const std::string &text : engine::rateTexts(program, clock.length()))
    printRemark(text);
  return {};
}

/// Continues with the best earlier evaluation that process 0 knows, so that all processes stop at the same step.
ExitCode goOnFromBest(Job &job, RunCheckpoints &checkpoints, RunEvaluations &evaluations) {
  if (!evaluations.wanted() || !checkpoints.resumes())
    return ExitCode::Good;
  std::optional<std::pair<int64_t, double>> own = checkpoints.bestBefore(evaluations.watched());
  Outcome<std::string> best = reported(job.decide([&]() -> Result<std::string> {
    return own ? Json{own->first, own->second}.dump() : std::string("[]");
  }));
  if (!best.ok())
    return best.code();
  Json json = Json::parse(*best, nullptr, /*allow_exceptions=*/false);
  if (json.is_array() && json.size() == 2)
    evaluations.goOn(json[0].get<int64_t>(), json[1].get<double>(), checkpoints.firstStep());
  return ExitCode::Good;
}

/// Checks that there is memory for the sessions of training and evaluation.
Status checkMemory(const RunFlags &flags, const Job &job, const ProgramPointer &program, const RunEvaluations &evaluations,
                   const RunCheckpoints &checkpoints, const RunTuning &tuning, int threads) {
  engine::MemoryRequest request;
  request.programs = {program}, request.guests = tuning.steps.guests();
  if (evaluations.wanted())
    request.programs.push_back(evaluations.program());
  request.crew = job.crew(threads, flags.device.backend), request.ranks = job.ranksOnHost(program->root());
  request.saved = !flags.saveWeights.empty(), request.snapshot = checkpoints.snapshotBytes(program->root(), request.ranks);
  TRY(std::string taken,
      engine::checkRoom(request, "reduce the size (--set micro=1, a smaller batch, length, width or depth), or use fewer ranks"));
  if (!flags.quiet)
    printRemark(taken);
  return {};
}

/// Merges the traces of all processes into the voice's, on its clock. Does nothing without clock offsets.
Status collect(const Job &job, const std::vector<job::ClockOffset> &clocks, engine::Trace &trace) {
  if (clocks.empty())
    return {};
  Result<std::vector<std::vector<uint8_t>>> all = job.gather(job.isVoice() ? std::vector<uint8_t>() : trace.pack());
  if (!all.ok() || !job.isVoice())
    return all.status();
  for (size_t process = 1; process < all->size(); ++process)
    if (Status status = trace.add((*all)[process], clocks[process].seconds); !status.ok())
      return status;
  return {};
}

/// Writes the results after the steps are done or have failed. Each file is tried even if another one failed: the trace of a failed run is
/// useful too, and a full disk may have room for one of them.
ExitCode finish(const RunFlags &flags, const Job &job, engine::Session &session, const program::Program &program, engine::Trace &trace,
                RunLogs &logs, RunCheckpoints &checkpoints, const Status &trained, Training &training) {
  job.phase("writing the final weights");
  if (trained.ok())
    training.badParameter = engine::firstParameterNotFinite(session, program);
  bool sound = !training.badParameter && !training.corrupt;
  if (trained.ok() && training.checkpoint.ok())
    training.checkpoint = checkpoints.atEnd(training.steps, sound);
  logFailedSaves(logs, checkpoints, training);
  if (trained.ok() && training.log.ok())
    training.log = logs.commit();
  std::vector<Status> written = {training.log, training.checkpoint};
  if (!flags.saveWeights.empty() && trained.ok() && sound)
    written.push_back(engine::saveWeights(session, program, job.isVoice() ? flags.saveWeights : ""));
  if (trained.ok())
    written.push_back(collect(job, training.clocks, trace));
  if (!flags.trace.empty() && training.steps > 0 && job.isVoice())
    written.push_back(trace.write(flags.trace));
  ExitCode code = trained.ok() ? ExitCode::Good : fail(trained);
  for (const Status &status : written)
    if (!status.ok())
      code = code == ExitCode::Good ? fail(status) : (fail(status), code);
  return code;
}

} // namespace

ExitCode train(const RunFlags &flags, Job &job, ProgramPointer program, const engine::DataPlan *plan, const RunClock &clock, RunLogs &logs,
               RunCheckpoints &checkpoints, RunEvaluations &evaluations, RunTuning &tuning) {
  const program::Program &root = program->root();
  engine::BatchShape shape = engine::BatchShape::of(root);
  std::unique_ptr<engine::DataSource> data;
  if (ExitCode code = job.agree(lookAtData(flags, root, plan, shape, checkpoints, data)); code != ExitCode::Good)
    return code;
  if (Status status = job.agree(checkLength(flags, root, clock)); !status.ok())
    return fail(status);
  std::string difference =
      engine::classDifference({"the data of evaluations", evaluations.classes()}, {"the training data", data->classes()});
  if (ExitCode code = job.agree(difference.empty() ? ExitCode::Good : fail(Status::badInput(difference))); code != ExitCode::Good)
    return code;
  Outcome<std::string> weights = checkpoints.resumes() ? Outcome<std::string>(std::string()) : findWeights(flags, job);
  if (!weights.ok())
    return weights.code();
  std::vector<std::string> paths = plan ? plan->paths() : std::vector<std::string>(), evaluated = evaluations.paths();
  paths.insert(paths.end(), evaluated.begin(), evaluated.end());
  std::vector<std::string> stores = weights->empty() ? std::vector<std::string>() : flags.parts;
  if (!weights->empty())
    stores.push_back(*weights);
  if (ExitCode code = checkSameFiles(job, std::move(paths), stores, checkpoints.seed(root)); code != ExitCode::Good)
    return code;
  Training training;
  const Status tunable = tuning.steps.planFor(clock.steps() - checkpoints.firstStep(), clock.epochs() ? "--epochs" : "--steps");
  if (ExitCode code = job.agree(reported(tunable)); code != ExitCode::Good)
    return code;
  RunObserver observer(flags, root, clock, logs, checkpoints, evaluations, tuning, training);
  training::TrainerOptions plans;
  plans.checkReplicas = flags.checkReplicas;
  plans.endIfNotFinite = flags.nonfinite == "stop", plans.computes = flags.device.backend != "null", plans.alone = job.isAlone();
  plans.hashBatches = checkpoints.wanted() && !flags.logs.empty();
  training::Trainer trainer(root, plans, observer);
  training.unit = trainer.unit();
  engine::Trace trace(size_t{4} << 20, checkpoints.firstStep() + (flags.traceSteps > 0 ? flags.traceSteps : 5));
  engine::SessionOptions options;
  flags.device.applyTo(options);
  if (!flags.quiet)
    options.onRemark = printRemark;
  options.seed = checkpoints.seed(root);
  options.trace = flags.trace.empty() ? nullptr : &trace;
  options.timeoutSeconds = flags.timeout;
  options.initialise = flags.weights.empty() && !checkpoints.resumes(); // otherwise all parameters are loaded
  options.note = [&trainer](int64_t) { return trainer.note(); };
  Result<int> threads = job.threads(flags.threads);
  Status room = threads.status();
  if (threads.ok()) {
    options.threads = *threads;
    room = checkMemory(flags, job, program, evaluations, checkpoints, tuning, *threads);
  }
  if (room = job.agree(room); !room.ok())
    return fail(room);
  options.guests = tuning.steps.guests();
  Result<std::unique_ptr<engine::Session>> session = createSession(job, program, options);
  if (!session.ok())
    return fail(session.status());
  if (Status status = tuning.steps.open(job, options, **session); !status.ok())
    return fail(status);
  options.guests.clear();
  job.phase("loading weights or a checkpoint");
  ExitCode loaded = ExitCode::Good;
  if (!flags.weights.empty() && !checkpoints.resumes())
    loaded = load(*weights, flags, **session, root, data->classes());
  else if (!flags.weights.empty() && !flags.quiet)
    printRemark(fmt::format("'{}' is not used: training resumes from '{}'", flags.weights, checkpoints.newest()));
  if (loaded = job.agree(loaded); loaded != ExitCode::Good)
    return loaded;
  if (Status status = job.agree(checkpoints.open(job, **session, program)); !status.ok())
    return fail(status);
  if (Status status = job.agree(logs.begin(logShapeOf(root, training.unit, evaluations, clock), checkpoints.firstStep())); !status.ok())
    return fail(status);
  data->keepRows((*session)->rows());
  data->useWorkers(options.threads);
  if (ExitCode code = reported(evaluations.open(job, options)); code != ExitCode::Good)
    return code;
  if (ExitCode code = goOnFromBest(job, checkpoints, evaluations); code != ExitCode::Good)
    return code;
  if (!job.isAlone() && !flags.trace.empty()) {
    Result<std::vector<job::ClockOffset>> clocks = job::measureClocks(job);
    if (!clocks.ok())
      return fail(clocks.status());
    training.clocks = std::move(*clocks);
  }
  trainer.trainUpTo(clock.steps()); // opening a damaged checkpoint can have changed the step to continue from
  if (Status status = job.agree(tuning.steps.setRun(**session, clock.length())); !status.ok())
    return fail(status);
  job.phase(""); // reports know the current step of a training
  observer.begin(**session, peakOf(flags, job, root));
  Status trained = trainer.run(**session, *data, checkpoints.firstStep());
  observer.end();
  static_cast<training::TrainingResult &>(training) = trainer.result();
  training.planned = clock.steps(), training.epochs = observer.epochs();
  ExitCode code = finish(flags, job, **session, root, trace, logs, checkpoints, trained, training);
  if (!trained.ok()) // other processes may have ended, so do not wait for them
    return code;
  if (code = job.agree(code); code != ExitCode::Good && code != ExitCode::BadInput)
    return code;
  // The summary is printed even if a file could not be written.
  if (Status status = printSummary(flags, job, **session, training, checkpoints, evaluations, tuning); !status.ok())
    return fail(status);
  remark(flags, training, checkpoints, evaluations, tuning);
  return code != ExitCode::Good ? code : job.agree(verdict(flags, training, checkpoints.newest()));
}

} // namespace npar::driver
