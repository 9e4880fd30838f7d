// Runs the steps and accumulates their results.
#include "engine/training/Trainer.h"

#include "engine/data/BatchReader.h"
#include "engine/runtime/NotFinite.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

namespace npar::training {

using engine::Result;
using engine::Status;

namespace {

/// Tokens per sample if each of them is predicted. 0: the model predicts something about a whole sample, so samples are counted.
int64_t predictedTokens(const engine::BatchShape &shape) {
  bool predicted = shape.find(program::InputRole::Shifted) || shape.inputs.size() == 1;
  return predicted ? shape.tokensOfSample() : 0;
}

/// Number of complete passes over the data before a step; nothing if data have no end.
std::optional<int64_t> epochOf(const engine::DataSource &data, int64_t step) {
  return data.samples() ? std::optional(data.position(step) / data.samples()) : std::nullopt;
}

} // namespace

Trainer::Trainer(const program::Program &program, const TrainerOptions &options, TrainingObserver &observer)
    : program(program), shape(engine::BatchShape::of(program)), tokens(predictedTokens(shape)), options(options), observer(observer) {
  outcome.loss = std::nan("");
}

std::vector<uint8_t> Trainer::note() { return pack(StepNote{observer.wantsToEnd(), rows}); }

/// True if all processes must end after this step because one of them wants to. Remembers the signal's name.
bool Trainer::shouldEnd(const std::vector<StepNote> &notes) {
  bool end = false;
  for (const StepNote &note : notes) {
    end |= !note.stop.empty();
    if (outcome.stoppedBy.empty() && note.stop != StepNote::cannotWrite)
      outcome.stoppedBy = note.stop;
  }
  return end;
}

StepReport Trainer::reportOf(int64_t step, const engine::StepResult &result, double seconds, const engine::DataSource &data) const {
  auto known = [this](double number) { return options.computes ? number : std::nan(""); }; // zeros would look like results
  StepReport report(step, result);
  report.loss = known(result.loss), report.gradNorm = known(result.gradNorm), report.learningRate = known(result.learningRate);
  for (const engine::NamedLoss &loss : result.losses)
    report.losses.push_back(known(loss.value));
  for (double number : result.logged)
    report.logged.push_back(known(number));
  report.seconds = seconds;
  report.amount = shape.rows * std::max<int64_t>(1, tokens);
  report.perSecond = static_cast<double>(report.amount) / std::max(seconds, 1e-9);
  report.epoch = epochOf(data, step);
  if (data.samples()) {
    report.epochsDone = static_cast<double>(data.position(step + 1)) / static_cast<double>(data.samples());
    report.samplesIntoEpoch = data.position(step) % data.samples();
  }
  return report;
}

void Trainer::addUp(const engine::Session &session, const StepReport &report) {
  const engine::StepResult &result = report.result;
  int64_t before = report.step - outcome.first;
  if (before > 0)
    outcome.seconds += report.seconds;
  outcome.steps = report.step + 1;
  outcome.loss = report.loss, outcome.losses = result.losses;
  outcome.perSecond =
      before > 0 ? static_cast<double>(report.amount) * static_cast<double>(before) / std::max(outcome.seconds, 1e-9) : report.perSecond;
  if (result.validTokens) {
    outcome.validTokens = outcome.validTokens.value_or(0) + *result.validTokens;
    outcome.idle += *result.validTokens == 0;
  }
  const std::vector<engine::NamedLoss> &losses = result.losses;
  outcome.idle += !losses.empty() && std::all_of(losses.begin(), losses.end(), [](const auto &loss) { return loss.counted == 0; });
  if (!engine::isSound(result) && outcome.notFinite++ == 0)
    outcome.firstNotFinite = engine::describeUnsound(session, program, result, report.step);
}

Status Trainer::compareReplicas(engine::Session &session, int64_t done) {
  if (options.checkReplicas == 0 || (done % options.checkReplicas != 0 && done != options.steps))
    return {};
  TRY(outcome.corrupt, engine::compareReplicas(session, program));
  if (!outcome.corrupt)
    outcome.compared = done;
  return {};
}

Status Trainer::run(engine::Session &session, const engine::DataSource &data, int64_t first) {
  using Clock = std::chrono::steady_clock;
  outcome.first = outcome.steps = outcome.compared = first;
  // A single process also stops for a signal received before the first step; several processes exchange signals at the end of a step.
  bool last = options.alone && shouldEnd({StepNote{observer.wantsToEnd(), {}}});
  engine::BatchReader reader(data, first, last ? first : options.steps);
  for (int64_t step = first; step < options.steps && !last; ++step) {
    const double waitedBefore = reader.waited();
    engine::BatchReader::Read read = reader.next();
    engine::Session &running = observer.runs(session);
    rows = options.hashBatches ? hashRows(shape, read.batch, session.rows()) : std::vector<RowHash>();
    if (!read.intact.ok()) { // the file was cut: missing data must not be trained on
      running.abandon(read.intact);
      return read.intact;
    }
    Clock::time_point begun = Clock::now();
    TRY(engine::StepResult result, running.step(read.batch, step));
    StepReport report = reportOf(step, result, std::chrono::duration<double>(Clock::now() - begun).count(), data);
    report.waited = reader.waited() - waitedBefore;
    std::vector<StepNote> notes;
    std::transform(result.notes.begin(), result.notes.end(), std::back_inserter(notes), unpackNote);
    report.batchHash = hashOfBatch(notes);
    addUp(running, report);
    observer.finished(report);
    TRY_STATUS(compareReplicas(session, step + 1));
    if (outcome.corrupt)
      break; // a checkpoint written now could not be trusted
    TRY(bool end, observer.between(step + 1, report));
    last = shouldEnd(options.alone ? std::vector<StepNote>{StepNote{observer.wantsToEnd(), {}}} : notes);
    last |= end || (options.endIfNotFinite && !engine::isSound(result));
  }
  outcome.waited = reader.waited();
  outcome.epoch = epochOf(data, outcome.steps);
  return {};
}

} // namespace npar::training
