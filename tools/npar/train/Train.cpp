// The training loop of `npar run`.
#include "tools/npar/train/RunFlags.h"

#include "engine/checkpoint/Weights.h"
#include "engine/data/DataSource.h"
#include "engine/logging/StepLog.h"
#include "engine/logging/Trace.h"
#include "engine/runtime/Session.h"
#include "tools/npar/terminal/Progress.h"
#include "tools/npar/terminal/StopSignals.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"
#include "tools/npar/train/MemoryCheck.h"
#include "tools/npar/train/NotFinite.h"
#include "tools/npar/train/RunCheckpoints.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <iostream>
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
  std::string unit = "tokens"; ///< of speeds: samples where no stream of tokens is fed
  double perSecond = 0;        ///< over all steps but the first, which also warms up; of the first when it is the only one
  Status log, checkpoint;      ///< what cannot be written ends the training, but what was learned is not lost
  bool written() const { return log.ok() && checkpoint.ok(); }
};

Result<std::unique_ptr<engine::DataSource>> openData(const RunFlags &flags, const engine::BatchShape &shape, uint64_t seed) {
  if (flags.randomData)
    return engine::DataSource::random(seed, shape);
  Result<engine::Order> order = engine::sampleOrder(flags.order.empty() ? "shuffled" : flags.order);
  if (!order.ok())
    return order.status();
  if (flags.hasTensors())
    return engine::DataSource::openTensors(flags.data, *order, seed, shape);
  Result<engine::TokenFormat> format = engine::tokenFormat(flags.tokens);
  if (!format.ok())
    return format.status();
  if (!flags.mask.empty() && !shape.ignoring())
    return Status::badInput("--mask needs a model that ignores targets: cross_entropy(..., ignore = -100); for a model of the standard "
                            "library --set ignore=-100");
  return engine::DataSource::openTokens(flags.data, *format, *order, seed, shape, flags.mask);
}

/// Bytes of the lines of a log that are of steps before `step`, as far as they are whole and follow each other.
size_t linesBefore(const std::string &log, int64_t step) {
  size_t size = 0;
  std::optional<int64_t> last;
  for (size_t end; (end = log.find('\n', size)) != std::string::npos; size = end + 1) {
    nlohmann::json line = nlohmann::json::parse(log.begin() + static_cast<int64_t>(size), log.begin() + static_cast<int64_t>(end), nullptr,
                                                /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer())
      return size;
    int64_t number = line["step"].get<int64_t>();
    if (number >= step || (last && number != *last + 1))
      return size;
    last = number;
  }
  return size;
}

Status trainSteps(const RunFlags &flags, const program::Program &program, const engine::BatchShape &shape, engine::Session &session,
                  const engine::DataSource &data, PendingFile *logFile, RunCheckpoints &checkpoints, Training &training) {
  std::unique_ptr<engine::StepLog> log;
  if (logFile) {
    int64_t first = checkpoints.firstStep();
    auto before = [first](const std::string &text) { return linesBefore(text, first); };
    Result<int> descriptor = first > 0 ? logFile->begin(before) : logFile->begin();
    if (!descriptor.ok())
      return descriptor.status();
    Result<std::unique_ptr<engine::StepLog>> opened = engine::StepLog::open(*descriptor, flags.log);
    if (!opened.ok())
      return opened.status();
    log = std::move(*opened);
  }
  using Clock = std::chrono::steady_clock;
  bool computes = flags.backend != "null";
  auto known = [computes](double number) { return computes ? number : std::nan(""); }; // zeros would look like results
  int64_t tokens = shape.tokensOfSample();
  auto amount = shape.rows * std::max<int64_t>(1, tokens);
  training.unit = tokens ? "tokens" : "samples";
  Progress progress(flags.steps, training.unit, !flags.quiet, computes);
  double secondsAfterFirst = 0;
  stopWhenAsked(checkpoints.wanted() ? "after this step and a checkpoint" : "after this step", flags.quiet);
  training.first = training.steps = checkpoints.firstStep();
  training.loss = std::nan("");
  for (int64_t step = training.first; step < flags.steps && !stopSignal() && training.written(); ++step) {
    engine::Batch batch = data.batch(step);
    if (Status intact = data.intact(); !intact.ok()) { // something cut the file: nothing is trained on what is not there
      progress.finish();
      return intact;
    }
    Clock::time_point begun = Clock::now();
    Result<engine::StepResult> result = session.step(batch, step);
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
    bool sound = isSound(*result);
    if (!sound && training.unsound++ == 0)
      training.firstUnsound = describeUnsound(session, program, *result, step);
    progress.update(step + 1, result->loss, speed);
    if (log)
      training.log = log->append({step, known(result->loss), known(result->gradNorm), known(result->learningRate), amount, speed,
                                  result->lossScale, result->skipped, result->validTokens, training.unit, checkpoints.hashOf(batch)});
    training.checkpoint = checkpoints.afterStep(step + 1, result->learningRate);
    if (!sound && flags.nonfinite == "stop")
      break;
  }
  progress.finish();
  if (log && training.log.ok())
    training.log = log->close();
  if (log && training.log.ok())
    training.log = logFile->commit();
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
ExitCode verdict(const RunFlags &flags, const Training &training, const std::optional<std::string> &badParameter,
                 const std::string &checkpoint) {
  if (training.unsound && flags.nonfinite == "stop")
    return fail(ExitCode::RunFailed, training.firstUnsound + (badParameter ? "; no weights are written"
                                                                           : "\nnpar: help: --nonfinite continue leaves such steps out"));
  if (badParameter)
    return fail(ExitCode::RunFailed, fmt::format("parameter '{}' is not finite after the last of {} steps; no weights are written",
                                                 *badParameter, training.steps));
  if (const char *signal = stopSignal(); signal && training.steps < flags.steps)
    return fail(ExitCode::RunFailed, fmt::format("stopped by {} after {} of {} steps{}", signal, training.steps, flags.steps,
                                                 checkpoint.empty() ? "" : "\nnpar: help: --resume goes on from '" + checkpoint + "'"));
  return ExitCode::Good;
}

void printSummary(const RunFlags &flags, const engine::Session &session, const Training &training, const RunCheckpoints &checkpoints) {
  bool computes = flags.backend != "null";
  std::string hash = session.parameterHash();
  if (!flags.json && !computes) {
    std::cout << fmt::format("{} steps without arithmetic (--backend null): no loss, no parameters\n", training.steps);
    return;
  }
  if (!flags.json && training.steps == training.first) {
    std::cout << fmt::format("{} steps were done already, parameters {}\n", training.steps, hash);
    return;
  }
  if (!flags.json) {
    std::cout << fmt::format("loss {:.6g} after {} steps, {:.0f} {}/s, parameters {}\n", training.loss, training.steps, training.perSecond,
                             training.unit, hash);
    return;
  }
  nlohmann::ordered_json json, ranks = nlohmann::ordered_json::array();
  for (const engine::ArenaUse &use : session.arenaUse()) {
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
  json["parameter_hash"] = computes ? nlohmann::ordered_json(hash) : nlohmann::ordered_json();
  if (checkpoints.wanted()) {
    json["first_step"] = training.first;
    json["checkpoint"] = checkpoints.newest();
  }
  json["ranks"] = ranks;
  std::cout << json.dump(2) << '\n';
}

Result<std::unique_ptr<engine::Session>> createSession(const ProgramPointer &program, engine::SessionOptions options) {
  Waiting waiting("setting up");
  options.onPhase = [&](const std::string &name) { waiting.phase(name); };
  return engine::Session::create(program, options);
}

} // namespace

ExitCode train(const RunFlags &flags, ProgramPointer program, PendingFile *log, RunCheckpoints &checkpoints) {
  const program::Program &root = program->root();
  uint64_t seed = checkpoints.seed(root);
  engine::BatchShape shape = engine::BatchShape::of(root);
  Result<std::unique_ptr<engine::DataSource>> data = openData(flags, shape, seed);
  if (!data.ok())
    return fail(data.status());
  if (!flags.quiet)
    for (const std::string &text : (*data)->remarks())
      printRemark(text);
  if (ExitCode code = checkpoints.goOn(root, **data, shape); code != ExitCode::Good)
    return code;
  engine::Trace trace(size_t{4} << 20, checkpoints.firstStep() + (flags.traceSteps > 0 ? flags.traceSteps : 5));
  engine::SessionOptions options;
  options.threads = flags.threads;
  options.backend = flags.backend;
  options.seed = seed;
  options.trace = flags.trace.empty() ? nullptr : &trace;
  options.timeoutSeconds = flags.timeout;
  options.initialise = flags.weights.empty() && !checkpoints.resumes(); // else all are loaded
  if (ExitCode code = checkMemory({program}, flags.backend, !flags.saveWeights.empty(), flags.quiet,
                                  "take less at once (--set micro=1, a smaller batch, length, width or depth), or fewer ranks",
                                  checkpoints.snapshotBytes(root));
      code != ExitCode::Good)
    return code;
  Result<std::unique_ptr<engine::Session>> session = createSession(program, options);
  if (!session.ok())
    return fail(session.status());
  if (!flags.weights.empty() && checkpoints.resumes()) {
    if (!flags.quiet)
      printRemark(fmt::format("'{}' is not read: the training goes on from '{}'", flags.weights, checkpoints.newest()));
  } else if (!flags.weights.empty()) {
    Result<size_t> fresh = [&] {
      Waiting waiting("loading '" + flags.weights + "'");
      return engine::loadWeights(**session, root, flags.weights);
    }();
    if (!fresh.ok())
      return fail(fresh.status());
    if (*fresh > 0)
      printRemark(fmt::format("{} {} not in '{}' and {} initial values (fresh)", *fresh, *fresh == 1 ? "parameter is" : "parameters are",
                              flags.weights, *fresh == 1 ? "keeps its" : "keep their"));
  }
  if (ExitCode code = checkpoints.open(**session, program); code != ExitCode::Good)
    return code;

  Training training;
  Status trained = trainSteps(flags, root, shape, **session, **data, log, checkpoints, training);
  // Each is tried whatever became of the others: the trace of a failed run is worth looking at too, and a full disk may have room for one.
  std::vector<Status> written = {training.log};
  std::optional<std::string> badParameter;
  if (trained.ok())
    badParameter = firstParameterNotFinite(**session, root);
  if (trained.ok() && training.checkpoint.ok())
    training.checkpoint = checkpoints.atEnd(training.steps, !badParameter);
  written.push_back(training.checkpoint);
  if (!flags.saveWeights.empty() && trained.ok() && !badParameter)
    written.push_back(engine::saveWeights(**session, root, flags.saveWeights));
  if (!flags.trace.empty() && training.steps > 0)
    written.push_back(trace.write(flags.trace));
  ExitCode code = trained.ok() ? ExitCode::Good : fail(trained);
  for (const Status &status : written)
    if (!status.ok())
      code = code == ExitCode::Good ? fail(status) : (fail(status), code);
  if (code != ExitCode::Good)
    return code;
  printSummary(flags, **session, training, checkpoints);
  remark(flags, training);
  return verdict(flags, training, badParameter, checkpoints.newest());
}

} // namespace npar::driver
