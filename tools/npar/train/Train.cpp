// The training loop of `npar train`.
#include "tools/npar/train/RunFlags.h"

#include "compiler/cost/CostModel.h"
#include "engine/checkpoint/CheckpointStore.h"
#include "engine/checkpoint/Weights.h"
#include "engine/data/BatchReader.h"
#include "engine/logging/Trace.h"
#include "engine/program/Compute.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/Session.h"
#include "tools/lib/planner/machine/MachineFile.h"
#include "tools/npar/checkpoint/OtherSettings.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/job/SameFiles.h"
#include "tools/npar/terminal/Progress.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Terminal.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"
#include "tools/npar/train/NotFinite.h"
#include "tools/npar/train/RunCheckpoints.h"
#include "tools/npar/train/RunEvaluations.h"
#include "tools/npar/train/RunLogs.h"
#include "tools/npar/train/TrainSummary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace npar::driver {

using engine::Result;
using engine::Status;

namespace {

/// What this process has to say after a step, of whose batch `rows` are known.
StepNote noteOf(const Training &training, std::vector<RowHash> rows) {
  const char *signal = stopSignal();
  return {!training.log.ok() ? StepNote::cannotWrite : signal ? signal : "", std::move(rows)};
}

/// Whether all processes stop here because one of them would. Remembers a signal's name.
bool shouldStop(const std::vector<StepNote> &notes, Training &training) {
  bool stop = false;
  for (const StepNote &note : notes) {
    stop |= !note.stop.empty();
    if (training.stoppedBy.empty() && note.stop != StepNote::cannotWrite)
      training.stoppedBy = note.stop;
  }
  return stop;
}

/// How often all samples have come before those of a step; nothing where data have no end.
std::optional<int64_t> epochOf(const engine::DataSource &data, int64_t step) {
  return data.samples() ? std::optional(data.position(step) / data.samples()) : std::nullopt;
}

std::optional<double> epochsBefore(const engine::DataSource &data, int64_t step) {
  return data.samples() ? std::optional(static_cast<double>(data.position(step)) / static_cast<double>(data.samples())) : std::nullopt;
}

/// Measures between two steps, and says what came of it.
Status evaluate(const RunFlags &flags, RunEvaluations &evaluations, const engine::Session &session, const program::Program &program,
                int64_t done, Progress &progress) {
  Status status = evaluations.run(session, program, done);
  if (!status.ok() || !flags.quiet)
    progress.finish();
  if (status.ok() && !flags.quiet)
    printRemark(fmt::format("evaluation after {} steps: {}", done, evaluations.text()));
  return status;
}

double secondsSince1970() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// FLOP/s that the products of a machine reach, by its measured figures, on as many machines as a program's ranks stand on; 0: unknown.
double peakOf(const RunFlags &flags, const Job &job, const program::Program &program) {
  if (!flags.model.machine || !job.isVoice() || flags.logs.empty())
    return 0;
  Outcome<dsl::Machine> machine = reported(planner::readMachineFile(*flags.model.machine, terminal()));
  size_t here = job.ranksOnHost(program).size(), world = static_cast<size_t>(program::worldOf(program));
  return machine.ok() ? cost::productPeak(*machine, program.compute(), program::multipliesInTf32(program)) *
                            static_cast<double>(here ? (world + here - 1) / here : 1)
                      : 0;
}

/// Tokens of a sample, where each is predicted: what reads a text and says one thing of it counts samples. 0: it is samples that count.
int64_t tokensOf(const engine::BatchShape &shape) {
  bool predicted = shape.find(program::InputRole::Shifted) || shape.inputs.size() == 1;
  return predicted ? shape.tokensOfSample() : 0;
}

/// What the rows of the logs have in common.
engine::LogShape logShapeOf(const program::Program &program, const engine::BatchShape &shape, const RunEvaluations &evaluations) {
  engine::LogShape result{tokensOf(shape) ? "tokens" : "samples", {}, engine::namedLosses(program), evaluations.names()};
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

Status trainSteps(const RunFlags &flags, const Job &job, const program::Program &program, const engine::BatchShape &shape,
                  engine::Session &session, const engine::DataSource &data, RunLogs &logs, double peak, RunCheckpoints &checkpoints,
                  RunEvaluations &evaluations, Training &training) {
  using Clock = std::chrono::steady_clock;
  bool computes = flags.device.backend != "null";
  auto known = [computes](double number) { return computes ? number : std::nan(""); }; // zeros would look like results
  auto amount = shape.rows * std::max<int64_t>(1, tokensOf(shape));
  Progress progress(flags.steps, training.unit, !flags.quiet, computes);
  double secondsAfterFirst = 0;
  stopWhenAsked(checkpoints.wanted() ? "after this step and a checkpoint" : "after this step", flags.quiet);
  training.first = training.steps = training.compared = checkpoints.firstStep();
  training.loss = std::nan("");
  bool hashes = checkpoints.wanted() && !flags.logs.empty();
  // Alone a signal that came before the first step counts too; processes hear of each other's at the end of a step.
  bool last = job.isAlone() && shouldStop({noteOf(training, {})}, training);
  engine::BatchReader reader(data, training.first, last ? training.first : flags.steps);
  for (int64_t step = training.first; step < flags.steps && !last; ++step) {
    engine::BatchReader::Read read = reader.next();
    training.rows = hashes ? hashRows(shape, read.batch, session.rows()) : std::vector<RowHash>();
    if (!read.intact.ok()) { // something cut the file: nothing is trained on what is not there
      progress.finish();
      session.abandon(read.intact);
      return read.intact;
    }
    Clock::time_point begun = Clock::now();
    Result<engine::StepResult> result = session.step(read.batch, step);
    if (!result.ok()) {
      progress.finish();
      return result.status();
    }
    double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    double speed = static_cast<double>(amount) / std::max(seconds, 1e-9);
    int64_t before = step - training.first;
    if (before > 0)
      secondsAfterFirst += seconds;
    training.steps = step + 1;
    training.loss = known(result->loss);
    training.perSecond = before > 0 ? static_cast<double>(amount) * static_cast<double>(before) / std::max(secondsAfterFirst, 1e-9) : speed;
    if (result->validTokens) {
      training.validTokens = training.validTokens.value_or(0) + *result->validTokens;
      training.idle += *result->validTokens == 0;
    }
    training.losses = result->losses;
    std::vector<engine::LossRecord> losses;
    for (const engine::NamedLoss &loss : result->losses)
      losses.push_back({known(loss.value), loss.counted});
    training.idle += !losses.empty() && std::all_of(losses.begin(), losses.end(), [](const auto &loss) { return loss.counted == 0; });
    std::vector<StepNote> notes;
    std::transform(result->notes.begin(), result->notes.end(), std::back_inserter(notes), unpackNote);
    bool sound = isSound(*result);
    if (!sound && training.unsound++ == 0)
      training.firstUnsound = describeUnsound(session, program, *result, step);
    progress.update(step + 1, result->loss, speed, epochsBefore(data, step + 1));
    double rate = computes ? program.flops() / std::max(seconds, 1e-9) : 0;
    training.log = logs.append(engine::StepRecord{step, known(result->loss), known(result->gradNorm), known(result->learningRate), amount,
                                                  speed, result->lossScale, result->skipped, result->validTokens, hashOfBatch(notes),
                                                  epochOf(data, step), data.samples() ? data.position(step) % data.samples() : 0, rate,
                                                  peak > 0 ? rate / peak : 0, result->groupNorms, std::move(losses), secondsSince1970()});
    if (flags.checkReplicas > 0 && ((step + 1) % flags.checkReplicas == 0 || step + 1 == flags.steps)) {
      Result<std::optional<engine::ReplicaDifference>> found = engine::compareReplicas(session, program);
      if (!found.ok())
        return found.status();
      if (training.corrupt = std::move(*found); training.corrupt)
        break; // whatever would be written now cannot be trusted
      training.compared = step + 1;
    }
    if (evaluations.isDue(step + 1)) {
      if (Status status = evaluate(flags, evaluations, session, program, step + 1, progress); !status.ok())
        return status;
      if (training.log.ok())
        training.log = logs.append(evaluations.record());
    }
    training.checkpoint = checkpoints.afterStep(step + 1, result->learningRate);
    if (training.checkpoint.ok() && evaluations.isDue(step + 1) && evaluations.isBest())
      training.checkpoint = checkpoints.keepBest(step + 1, evaluations.watched(), evaluations.best());
    logFailedSaves(logs, checkpoints, training);
    last = shouldStop(job.isAlone() ? std::vector<StepNote>{noteOf(training, {})} : notes, training);
    last |= evaluations.isStuck() || !training.checkpoint.ok() || (!sound && flags.nonfinite == "stop");
  }
  progress.finish();
  training.waited = reader.waited();
  training.epoch = epochOf(data, training.steps);
  return {};
}

Result<std::unique_ptr<engine::Session>> createSession(Job &job, const ProgramPointer &program, engine::SessionOptions options) {
  Waiting waiting("setting up");
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  return job.createSession(program, options);
}

/// Finds the weights of --weights: in a folder of checkpoints the newest one that process 0 sees.
Outcome<std::string> findWeights(const RunFlags &flags, Job &job) {
  return job.decide([&]() -> Outcome<std::string> {
    if (flags.weights.empty() || !engine::isCheckpoint(flags.weights))
      return flags.weights;
    Result<std::shared_ptr<const engine::CheckpointStore>> store = engine::openCheckpointStore(flags.weights);
    return store.ok() ? Outcome<std::string>((*store)->folder()) : Outcome<std::string>(fail(store.status()));
  });
}

/// Gives the parameters what --weights names.
ExitCode load(const std::string &weights, const RunFlags &flags, engine::Session &session, const program::Program &program) {
  if (std::string others = otherSettings(weights, flags.model); !others.empty() && !flags.quiet)
    printRemark(fmt::format("warning: the settings differ from those when '{}' was written: {}", weights, others));
  Result<size_t> fresh = [&] {
    Waiting waiting("loading '" + weights + "'");
    return engine::loadWeights(session, program, weights);
  }();
  if (!fresh.ok())
    return fail(fresh.status());
  if (*fresh > 0)
    printRemark(fmt::format("{} {} not in '{}' and {} initial values (fresh)", *fresh, *fresh == 1 ? "parameter is" : "parameters are",
                            weights, *fresh == 1 ? "keeps its" : "keep their"));
  return ExitCode::Good;
}

/// Data that the program takes and a checkpoint goes on with, in every process.
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
  return checkpoints.goOn(program, *data, shape);
}

/// Continues from the best earlier evaluation that process 0 knows: the end of the run depends on it.
ExitCode goOnFromBest(Job &job, RunCheckpoints &checkpoints, RunEvaluations &evaluations) {
  if (!evaluations.wanted() || !checkpoints.resumes())
    return ExitCode::Good;
  std::optional<std::pair<int64_t, double>> own = checkpoints.bestBefore(evaluations.watched());
  Outcome<std::string> best = job.decide([&]() -> Outcome<std::string> {
    return own ? nlohmann::json{own->first, own->second}.dump() : std::string("[]");
  });
  if (!best.ok())
    return best.code();
  nlohmann::json json = nlohmann::json::parse(*best, nullptr, /*allow_exceptions=*/false);
  if (json.is_array() && json.size() == 2)
    evaluations.goOn(json[0].get<int64_t>(), json[1].get<double>(), checkpoints.firstStep());
  return ExitCode::Good;
}

/// Brings what all processes have recorded into the trace of the voice, on its clock. Without offsets of clocks there is nothing.
Status collect(const Job &job, const std::vector<ClockOffset> &clocks, engine::Trace &trace) {
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

/// What is left when the steps are done, or have failed: each is tried whatever became of the others, for the trace of a failed run is
/// worth looking at too, and a full disk may have room for one.
ExitCode finish(const RunFlags &flags, const Job &job, engine::Session &session, const program::Program &program, engine::Trace &trace,
                RunLogs &logs, RunCheckpoints &checkpoints, const Status &trained, Training &training) {
  job.phase("writing the final weights");
  if (trained.ok())
    training.badParameter = firstParameterNotFinite(session, program);
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

ExitCode train(const RunFlags &flags, Job &job, ProgramPointer program, const engine::DataPlan *plan, RunLogs &logs,
               RunCheckpoints &checkpoints, RunEvaluations &evaluations) {
  const program::Program &root = program->root();
  engine::BatchShape shape = engine::BatchShape::of(root);
  std::unique_ptr<engine::DataSource> data;
  if (ExitCode code = job.agree(lookAtData(flags, root, plan, shape, checkpoints, data)); code != ExitCode::Good)
    return code;
  Outcome<std::string> weights = checkpoints.resumes() ? Outcome<std::string>(std::string()) : findWeights(flags, job);
  if (!weights.ok())
    return weights.code();
  std::vector<std::string> paths = plan ? plan->paths() : std::vector<std::string>(), evaluated = evaluations.paths();
  paths.insert(paths.end(), evaluated.begin(), evaluated.end());
  if (ExitCode code = checkSameFiles(job, std::move(paths), *weights, checkpoints.seed(root)); code != ExitCode::Good)
    return code;
  Training training;
  engine::Trace trace(size_t{4} << 20, checkpoints.firstStep() + (flags.traceSteps > 0 ? flags.traceSteps : 5));
  engine::SessionOptions options;
  flags.device.applyTo(options);
  if (!flags.quiet)
    options.onRemark = printRemark;
  options.seed = checkpoints.seed(root);
  options.trace = flags.trace.empty() ? nullptr : &trace;
  options.timeoutSeconds = flags.timeout;
  options.initialise = flags.weights.empty() && !checkpoints.resumes(); // else all are loaded
  options.note = [&training](int64_t) { return pack(noteOf(training, training.rows)); };
  Outcome<int> threads = job.threads(flags.threads);
  ExitCode room = threads.code();
  if (threads.ok()) {
    options.threads = *threads;
    std::vector<ProgramPointer> programs = {program};
    if (evaluations.wanted())
      programs.push_back(evaluations.program());
    room = checkMemory(programs, job.crew(*threads, flags.device.backend), !flags.saveWeights.empty(), flags.quiet,
                       "reduce the size (--set micro=1, a smaller batch, length, width or depth), or use fewer ranks",
                       checkpoints.snapshotBytes(root, job.ranksOnHost(root)), job.ranksOnHost(root));
  }
  if (room = job.agree(room); room != ExitCode::Good)
    return room;
  Result<std::unique_ptr<engine::Session>> session = createSession(job, program, options);
  if (!session.ok())
    return fail(session.status());
  job.phase("loading weights or a checkpoint");
  ExitCode loaded = ExitCode::Good;
  if (!flags.weights.empty() && !checkpoints.resumes())
    loaded = load(*weights, flags, **session, root);
  else if (!flags.weights.empty() && !flags.quiet)
    printRemark(fmt::format("'{}' is not used: training resumes from '{}'", flags.weights, checkpoints.newest()));
  if (loaded = job.agree(loaded); loaded != ExitCode::Good)
    return loaded;
  if (ExitCode code = job.agree(checkpoints.open(job, **session, program)); code != ExitCode::Good)
    return code;
  engine::LogShape logShape = logShapeOf(root, shape, evaluations);
  training.unit = logShape.unit;
  Status opened = logs.begin(logShape, checkpoints.firstStep());
  if (ExitCode code = job.agree(opened.ok() ? ExitCode::Good : fail(opened)); code != ExitCode::Good)
    return code;
  data->keepRows((*session)->rows());
  if (ExitCode code = evaluations.open(job, options); code != ExitCode::Good)
    return code;
  if (ExitCode code = goOnFromBest(job, checkpoints, evaluations); code != ExitCode::Good)
    return code;
  if (!job.isAlone() && !flags.trace.empty()) {
    Result<std::vector<ClockOffset>> clocks = job.measureClocks();
    if (!clocks.ok())
      return fail(clocks.status());
    training.clocks = std::move(*clocks);
  }
  job.phase(""); // where its steps are is seen by itself
  Status trained =
      trainSteps(flags, job, root, shape, **session, *data, logs, peakOf(flags, job, root), checkpoints, evaluations, training);
  ExitCode code = finish(flags, job, **session, root, trace, logs, checkpoints, trained, training);
  if (!trained.ok()) // others may be gone: nobody waits for them
    return code;
  if (code = job.agree(code); code != ExitCode::Good && code != ExitCode::BadInput)
    return code;
  // A file that could not be written takes nothing from what was learned.
  if (Status status = printSummary(flags, job, **session, training, checkpoints, evaluations); !status.ok())
    return fail(status);
  remark(flags, training, checkpoints, evaluations);
  return code != ExitCode::Good ? code : job.agree(verdict(flags, training, checkpoints.newest()));
}

} // namespace npar::driver
