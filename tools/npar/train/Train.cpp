// The training loop of `npar run`.
#include "tools/npar/train/RunFlags.h"

#include "compiler/cost/CostModel.h"
#include "engine/checkpoint/Weights.h"
#include "engine/data/BatchReader.h"
#include "engine/logging/Trace.h"
#include "engine/program/Ranks.h"
#include "engine/runtime/Session.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/machine/MachineFile.h"
#include "tools/npar/terminal/Progress.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"
#include "tools/npar/train/NotFinite.h"
#include "tools/npar/train/RunCheckpoints.h"
#include "tools/npar/train/RunLogs.h"
#include "tools/npar/train/StepNote.h"

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

struct Training {
  int64_t first = 0, steps = 0;       ///< the step that it began with; done, those before that one included
  int64_t unsound = 0, idle = 0;      ///< of them: with numbers that are not finite; without a target that counts
  std::string firstUnsound;           ///< what was wrong with the first of these
  std::optional<int64_t> validTokens; ///< of all steps
  double loss = 0;
  std::string unit = "tokens";             ///< of speeds: samples where no stream of tokens is fed
  double perSecond = 0;                    ///< over all steps but the first, which also warms up; of the first when it is the only one
  Status log, checkpoint;                  ///< what cannot be written ends the training, but what was learned is not lost
  std::string stoppedBy;                   ///< the signal that ended it before its last step; empty: none
  std::optional<std::string> badParameter; ///< the first that is not finite at the end
  std::vector<RowHash> rows;               ///< of the batch of this step, as far as this process reads it
  double waited = 0;                       ///< seconds in which a batch was not ready yet
  std::optional<int64_t> epoch;            ///< of the next sample; nothing where data have no end
  std::vector<ClockOffset> clocks;         ///< by process, where a trace is collected
};

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

double secondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// FLOP/s that the products of a machine reach, by its measured figures, on as many machines as a program's ranks stand on; 0: unknown.
double peakOf(const RunFlags &flags, const Job &job, const program::Program &program) {
  if (!flags.model.machine || !job.isVoice() || flags.logs.empty())
    return 0;
  Outcome<dsl::Machine> machine = readMachineFile(*flags.model.machine);
  size_t here = job.ranksOnHost(program).size(), world = static_cast<size_t>(program::worldOf(program));
  return machine.ok() ? cost::productPeak(*machine, program.compute()) * static_cast<double>(here ? (world + here - 1) / here : 1) : 0;
}

/// What the rows of the logs have in common.
engine::LogShape logShapeOf(const program::Program &program, const engine::BatchShape &shape) {
  engine::LogShape result{shape.tokensOfSample() ? "tokens" : "samples", {}, {}};
  for (uint32_t i = 0; program.groups() && i < program.groups()->size(); ++i)
    result.groups.push_back(program.groups()->Get(i)->str());
  return result;
}

Status trainSteps(const RunFlags &flags, const Job &job, const program::Program &program, const engine::BatchShape &shape,
                  engine::Session &session, const engine::DataSource &data, RunLogs &logs, double peak, RunCheckpoints &checkpoints,
                  Training &training) {
  using Clock = std::chrono::steady_clock;
  bool computes = flags.backend != "null";
  auto known = [computes](double number) { return computes ? number : std::nan(""); }; // zeros would look like results
  int64_t tokens = shape.tokensOfSample();
  auto amount = shape.rows * std::max<int64_t>(1, tokens);
  Progress progress(flags.steps, training.unit, !flags.quiet, computes);
  double secondsAfterFirst = 0;
  stopWhenAsked(checkpoints.wanted() ? "after this step and a checkpoint" : "after this step", flags.quiet);
  training.first = training.steps = checkpoints.firstStep();
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
                                                  peak > 0 ? rate / peak : 0, result->groupNorms, secondsSince1970()});
    training.checkpoint = checkpoints.afterStep(step + 1, result->learningRate);
    last = shouldStop(job.isAlone() ? std::vector<StepNote>{noteOf(training, {})} : notes, training);
    last |= !training.checkpoint.ok() || (!sound && flags.nonfinite == "stop");
  }
  progress.finish();
  training.waited = reader.waited();
  training.epoch = epochOf(data, training.steps);
  if (training.log.ok())
    training.log = logs.commit();
  return {};
}

/// What the run came to that its numbers do not tell.
void remark(const RunFlags &flags, const Training &training) {
  if (flags.quiet)
    return;
  if (training.idle)
    printRemark(fmt::format("{} of {} batches had no target that counts: their loss and gradients are 0", training.idle, training.steps));
  if (training.unsound && flags.nonfinite == "continue")
    printRemark(
        fmt::format("{} of {} steps had numbers that are not finite, first {}", training.unsound, training.steps, training.firstUnsound));
}

/// Exit code and message of a run that came to its end but not to a good one.
ExitCode verdict(const RunFlags &flags, const Training &training, const std::string &checkpoint) {
  if (training.unsound && flags.nonfinite == "stop")
    return fail(ExitCode::RunFailed,
                training.firstUnsound +
                    (training.badParameter ? "; no weights are written" : "\nnpar: help: --nonfinite continue leaves such steps out"));
  if (training.badParameter)
    return fail(ExitCode::RunFailed, fmt::format("parameter '{}' is not finite after the last of {} steps; no weights are written",
                                                 *training.badParameter, training.steps));
  if (!training.stoppedBy.empty() && training.steps < flags.steps)
    return fail(ExitCode::RunFailed, fmt::format("stopped by {} after {} of {} steps{}", training.stoppedBy, training.steps, flags.steps,
                                                 checkpoint.empty() ? "" : "\nnpar: help: --resume goes on from '" + checkpoint + "'"));
  return ExitCode::Good;
}

/// What a run came to, in words or as JSON: asked of all processes, printed by the voice.
Status printSummary(const RunFlags &flags, const Job &job, const engine::Session &session, const Training &training,
                    const RunCheckpoints &checkpoints) {
  bool computes = flags.backend != "null";
  std::string hash = session.parameterHash();
  Result<std::vector<engine::ArenaUse>> uses = job.arenaUse(session);
  if (!uses.ok())
    return uses.status();
  if (!job.isVoice())
    return {};
  if (!flags.json && !computes) {
    std::cout << fmt::format("{} steps without arithmetic (--backend null): no loss, no parameters\n", training.steps);
    return {};
  }
  if (!flags.json && training.steps == training.first) {
    std::cout << fmt::format("{} steps were done already, parameters {}\n", training.steps, hash);
    return {};
  }
  if (!flags.json) {
    std::cout << fmt::format("loss {:.6g} after {} steps, {:.0f} {}/s, parameters {}\n", training.loss, training.steps, training.perSecond,
                             training.unit, hash);
    return {};
  }
  nlohmann::ordered_json json, ranks = nlohmann::ordered_json::array();
  for (const engine::ArenaUse &use : *uses) {
    nlohmann::ordered_json rank;
    rank["rank"] = use.rank;
    rank["arena_bytes_planned"] = use.planned;
    rank["arena_bytes_used"] = use.used;
    ranks.push_back(rank);
  }
  json["steps"] = training.steps;
  json["loss"] = training.loss;
  json[training.unit + "_per_second"] = training.perSecond;
  if (training.validTokens)
    json["valid_tokens"] = *training.validTokens;
  if (training.epoch)
    json["epoch"] = *training.epoch;
  json["data_wait_seconds"] = training.waited;
  json["parameter_hash"] = computes ? nlohmann::ordered_json(hash) : nlohmann::ordered_json();
  if (checkpoints.wanted()) {
    json["first_step"] = training.first;
    json["checkpoint"] = checkpoints.newest();
  }
  if (!job.isAlone())
    json["processes"] = job.processes();
  json["ranks"] = ranks;
  std::cout << json.dump(2) << '\n';
  return {};
}

Result<std::unique_ptr<engine::Session>> createSession(Job &job, const ProgramPointer &program, engine::SessionOptions options) {
  Waiting waiting("setting up");
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  return job.createSession(program, options);
}

/// Gives the parameters what --weights names.
ExitCode load(const RunFlags &flags, engine::Session &session, const program::Program &program) {
  Result<size_t> fresh = [&] {
    Waiting waiting("loading '" + flags.weights + "'");
    return engine::loadWeights(session, program, flags.weights);
  }();
  if (!fresh.ok())
    return fail(fresh.status());
  if (*fresh > 0)
    printRemark(fmt::format("{} {} not in '{}' and {} initial values (fresh)", *fresh, *fresh == 1 ? "parameter is" : "parameters are",
                            flags.weights, *fresh == 1 ? "keeps its" : "keep their"));
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
                RunCheckpoints &checkpoints, const Status &trained, Training &training) {
  job.phase("writing what was learned");
  std::vector<Status> written = {training.log};
  if (trained.ok())
    training.badParameter = firstParameterNotFinite(session, program);
  if (trained.ok() && training.checkpoint.ok())
    training.checkpoint = checkpoints.atEnd(training.steps, !training.badParameter);
  written.push_back(training.checkpoint);
  if (!flags.saveWeights.empty() && trained.ok() && !training.badParameter)
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
               RunCheckpoints &checkpoints) {
  const program::Program &root = program->root();
  engine::BatchShape shape = engine::BatchShape::of(root);
  std::unique_ptr<engine::DataSource> data;
  if (ExitCode code = job.agree(lookAtData(flags, root, plan, shape, checkpoints, data)); code != ExitCode::Good)
    return code;
  Training training;
  engine::Trace trace(size_t{4} << 20, checkpoints.firstStep() + (flags.traceSteps > 0 ? flags.traceSteps : 5));
  engine::SessionOptions options;
  options.backend = flags.backend;
  options.seed = checkpoints.seed(root);
  options.trace = flags.trace.empty() ? nullptr : &trace;
  options.timeoutSeconds = flags.timeout;
  options.initialise = flags.weights.empty() && !checkpoints.resumes(); // else all are loaded
  options.note = [&training](int64_t) { return pack(noteOf(training, training.rows)); };
  Outcome<int> threads = job.threads(flags.threads);
  ExitCode room = threads.code();
  if (threads.ok()) {
    options.threads = *threads;
    room = checkMemory({program}, job.crew(*threads, flags.backend), !flags.saveWeights.empty(), flags.quiet,
                       "take less at once (--set micro=1, a smaller batch, length, width or depth), or fewer ranks",
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
    loaded = load(flags, **session, root);
  else if (!flags.weights.empty() && !flags.quiet)
    printRemark(fmt::format("'{}' is not read: the training goes on from '{}'", flags.weights, checkpoints.newest()));
  if (loaded = job.agree(loaded); loaded != ExitCode::Good)
    return loaded;
  if (ExitCode code = job.agree(checkpoints.open(**session, program)); code != ExitCode::Good)
    return code;
  engine::LogShape logShape = logShapeOf(root, shape);
  training.unit = logShape.unit;
  Status opened = logs.begin(logShape, checkpoints.firstStep());
  if (ExitCode code = job.agree(opened.ok() ? ExitCode::Good : fail(opened)); code != ExitCode::Good)
    return code;
  data->keepRows((*session)->rows());
  if (!job.isAlone() && !flags.trace.empty()) {
    Result<std::vector<ClockOffset>> clocks = job.measureClocks();
    if (!clocks.ok())
      return fail(clocks.status());
    training.clocks = std::move(*clocks);
  }
  job.phase(""); // where its steps are is seen by itself
  Status trained = trainSteps(flags, job, root, shape, **session, *data, logs, peakOf(flags, job, root), checkpoints, training);
  ExitCode code = finish(flags, job, **session, root, trace, checkpoints, trained, training);
  if (!trained.ok()) // others may be gone: nobody waits for them
    return code;
  if (code = job.agree(code); code != ExitCode::Good)
    return code;
  if (Status status = printSummary(flags, job, **session, training, checkpoints); !status.ok())
    return fail(status);
  remark(flags, training);
  return verdict(flags, training, checkpoints.newest());
}

} // namespace npar::driver
