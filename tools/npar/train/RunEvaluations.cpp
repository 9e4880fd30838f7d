// Compiles the forward-only program, copies parameters into it, and decides whether the evaluated value has improved.
#include "tools/npar/train/RunEvaluations.h"

#include "engine/data/SampleCount.h"
#include "engine/program/Elements.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/train/DataFlags.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace npar::driver {

using engine::Result;
using engine::Status;
using program::MeasureKind;

ExitCode RunEvaluations::prepare(Job &job, const program::Program &training, FileClaims &files) {
  if (!wanted())
    return ExitCode::Good;
  if (ExitCode code =
          job.agree(flags.model.isCompiled()
                        ? fail(ExitCode::Usage, "--eval-every needs the model file, because it also compiles an evaluation program")
                        : ExitCode::Good);
      code != ExitCode::Good)
    return code;
  Outcome<ProgramPointer> made = job.shareProgram([&]() -> Outcome<ProgramPointer> {
    ModelOptions options = flags.model;
    options.kind = program::ProgramKind::Evaluation;
    EvaluationRequest request;
    request.options = options;
    request.countSamples = [&](const program::Program &root) -> Outcome<int64_t> {
      Outcome<engine::DataPlan> plan = planTo(root);
      return plan.ok() ? Outcome<int64_t>(engine::countSamples(*plan, engine::BatchShape::of(root))) : plan.code();
    };
    request.crew = job.crew(flags.threads, flags.device.backend);
    request.taken = engine::memoryNeeded(training, request.crew, job.ranksOnHost(training)).total();
    request.ofTraining = true, request.withWarnings = false;
    Outcome<EvaluationProgram> program = compileToEvaluate(request, files);
    if (!program.ok())
      return program.code();
    batch = program->batch;
    if (!flags.quiet)
      printRemark("an evaluation takes " + program->text());
    return program->program;
  });
  if (!made.ok())
    return made.code();
  compiled = *made;
  ExitCode code = checkWatched(compiled->root());
  if (code == ExitCode::Good)
    code = lookAtData(compiled->root());
  if (code == ExitCode::Good)
    for (const std::string &file : flags.evalData)
      files.read("--eval-data", file.substr(file.find('=') + 1));
  return job.agree(code == ExitCode::Good ? files.check() : code);
}

Outcome<engine::DataPlan> RunEvaluations::planTo(const program::Program &root) {
  DataFlags named;
  named.files = flags.evalData, named.tokens = flags.data.tokens;
  if (named.files.empty()) {
    bool split = root.data() && root.data()->shares()->size() > 1 && flags.data.files.empty() && !flags.data.random;
    if (!split)
      return fail(ExitCode::BadInput,
                  "no data are reserved for evaluation\nnpar: help: give --eval-data FILE, or a data block with `split 0.9, 0.1 "
                  "seed 42`");
    named.tokens.clear();
  }
  tokens = named.tokens;
  Outcome<engine::DataPlan> plan = planOf(named, root, engine::BatchShape::of(root));
  if (plan.ok() && named.files.empty())
    plan->split.part = plan->split.shares.size() - 1;
  else if (plan.ok())
    plan->split = {};
  return plan;
}

ExitCode RunEvaluations::lookAtData(const program::Program &root) {
  Outcome<engine::DataPlan> plan = planTo(root);
  if (!plan.ok())
    return plan.code();
  engine::BatchShape shape = engine::BatchShape::of(root);
  Result<std::unique_ptr<engine::OncePass>> opened = engine::OncePass::open(
      *plan, shape, training::Evaluation::elementsOfSample(*root.results()->Get(0)), training::Evaluation(root).takesWholeSamples());
  if (!opened.ok())
    return fail(opened.status());
  data = std::move(*opened);
  return ExitCode::Good;
}

ExitCode RunEvaluations::checkWatched(const program::Program &root) {
  if (flags.stopOn.empty())
    return ExitCode::Good;
  name = flags.stopOn;
  std::string names = "loss";
  const training::Evaluation evaluation(root);
  for (const training::Measured &measure : evaluation.measures()) {
    if (measure.name == name) {
      largerIsBetter = measure.kind == MeasureKind::Mean || measure.kind == MeasureKind::F1 || measure.kind == MeasureKind::Correlation;
      return ExitCode::Good;
    }
    names += measure.name.empty() ? "" : ", " + measure.name;
  }
  return name == "loss" ? ExitCode::Good
                        : fail(ExitCode::BadInput, fmt::format("--eval-stop-on names '{}', an evaluation gives {}", name, names));
}

ExitCode RunEvaluations::open(Job &job, const engine::SessionOptions &options) {
  if (!wanted())
    return ExitCode::Good;
  engine::SessionOptions own = options;
  own.initialise = false;
  own.note = nullptr, own.trace = nullptr, own.onPhase = nullptr, own.onRemark = nullptr;
  Result<std::unique_ptr<engine::Session>> made = job.createSession(compiled, own);
  if (ExitCode code = job.agree(made.ok() ? ExitCode::Good : fail(made.status())); code != ExitCode::Good)
    return code;
  session = std::move(*made);
  data->keepRows(session->rows());
  return ExitCode::Good;
}

/// Copies one tensor at a time, which is complete in memory meanwhile, as when loading a file with weights.
Status RunEvaluations::copyParameters(const engine::Session &training, const program::Program &root) {
  for (const program::Variable *variable : *root.variables()) {
    if (variable->kind() != program::VariableKind::Parameter)
      continue;
    const std::string parameter = variable->name()->str();
    if (isWide(variable->type())) {
      Result<std::vector<double>> values = training.read(parameter);
      if (Status status = values.ok() ? session->write(parameter, *values) : values.status(); !status.ok())
        return status;
      continue;
    }
    Result<std::vector<float>> values = training.readFloat(parameter);
    if (Status status = values.ok() ? session->writeFloat(parameter, *values) : values.status(); !status.ok())
      return status;
  }
  return {};
}

Status RunEvaluations::run(const engine::Session &training, const program::Program &root, int64_t done) {
  if (Status status = copyParameters(training, root); !status.ok())
    return status;
  training::Evaluation evaluation(compiled->root());
  if (Status status = evaluation.run(*session, *data, [](int64_t, int64_t) { return Status(); }); !status.ok())
    return status;
  if (evaluation.counted() == 0)
    return Status::badInput("no target of the evaluation data counts in the loss");
  judge(evaluation, done);
  last = std::move(evaluation);
  return {};
}

std::string RunEvaluations::text() const { return textOf(*last, tokens, data->samples()); }

nlohmann::ordered_json RunEvaluations::json() const {
  nlohmann::ordered_json json = jsonOf(*last, tokens, data->samples());
  json["batch"] = {{"samples", batch.samples}, {"chosen_by", batch.word()}};
  return json;
}

engine::EvaluationRecord RunEvaluations::record() const {
  engine::EvaluationRecord record = training::recordOf(*last, tokens, data->samples());
  record.step = lastStep;
  return record;
}

std::vector<std::string> RunEvaluations::names() const {
  return wanted() ? training::namesOf(training::recordOf(training::Evaluation(compiled->root()), tokens, 0)) : std::vector<std::string>();
}

void RunEvaluations::goOn(int64_t step, double value, int64_t from) {
  bestStep = step, bestValue = value;
  worse = (from - step) / flags.evalEvery;
}

void RunEvaluations::judge(const training::Evaluation &evaluation, int64_t done) {
  std::optional<double> value = evaluation.loss();
  if (!flags.stopOn.empty() && name != "loss")
    for (const training::Measured &measure : evaluation.measures())
      if (measure.name == name)
        value = measure.sum.value();
  lastStep = done;
  bool better = value && std::isfinite(*value) && (bestStep < 0 || (largerIsBetter ? *value > bestValue : *value < bestValue));
  worse = better ? 0 : worse + 1;
  if (better)
    bestValue = *value, bestStep = done;
}

} // namespace npar::driver
