// Copies parameters into the forward-only program, and decides whether the evaluated value has improved.
#include "engine/training/RunEvaluations.h"

#include "engine/json/Json.h"
#include "engine/training/CopyParameters.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace npar::training {

using engine::Result;
using engine::Status;
using program::MeasureKind;

Status RunEvaluations::take(program::ProgramPointer program, const EvaluationBatch &chosen) {
  compiled = std::move(program), batch = chosen;
  if (plan.stopOn.empty())
    return {};
  name = plan.stopOn;
  std::string names = "loss";
  const Evaluation evaluation(compiled->root());
  for (const Measured &measure : evaluation.measures()) {
    if (measure.name == name) {
      largerIsBetter = measure.kind == MeasureKind::Mean || measure.kind == MeasureKind::F1 || measure.kind == MeasureKind::Correlation;
      return {};
    }
    names += measure.name.empty() ? "" : ", " + measure.name;
  }
  return name == "loss" ? Status() : Status::badInput(fmt::format("--eval-stop-on names '{}', an evaluation gives {}", name, names));
}

Status RunEvaluations::openData(const engine::DataPlan &from, const std::string &kind) {
  const program::Program &root = compiled->root();
  tokens = kind;
  TRY(data, engine::OncePass::open(from, engine::BatchShape::of(root), Evaluation::elementsOfSample(*root.results()->Get(0)),
                                   Evaluation(root).takesWholeSamples()));
  return {};
}

Status RunEvaluations::open(job::Processes &processes, const engine::SessionOptions &options) {
  if (!wanted())
    return {};
  engine::SessionOptions own = options;
  own.initialise = false;
  own.note = nullptr, own.trace = nullptr, own.onPhase = nullptr, own.onRemark = nullptr;
  Result<std::unique_ptr<engine::Session>> made = processes.createSession(compiled, own);
  TRY_STATUS(processes.agree(made.status()));
  session = std::move(*made);
  data->keepRows(session->rows());
  data->useWorkers(options.threads);
  return {};
}

Status RunEvaluations::run(const engine::Session &training, const program::Program &root, int64_t done, const Progress &progress) {
  TRY_STATUS(copyParameters(training, root, *session));
  Evaluation evaluation(compiled->root());
  TRY_STATUS(evaluation.run(
      *session, *data, [&](int64_t first, int64_t samples) { return progress ? progress(first + samples, data->samples()) : Status(); }));
  if (evaluation.counted() == 0)
    return Status::badInput("no target of the evaluation data counts in the loss");
  judge(evaluation, done);
  last = std::move(evaluation);
  return {};
}

std::string RunEvaluations::text() const { return textOf(*last, tokens, data->samples()); }

OrderedJson RunEvaluations::json() const {
  OrderedJson json = jsonOf(*last, tokens, data->samples());
  json["batch"] = {{"samples", batch.samples}, {"chosen_by", batch.word()}};
  return json;
}

engine::EvaluationRecord RunEvaluations::record() const {
  engine::EvaluationRecord record = recordOf(*last, tokens, data->samples());
  record.step = lastStep;
  return record;
}

std::vector<std::string> RunEvaluations::names() const {
  return wanted() ? namesOf(recordOf(Evaluation(compiled->root()), tokens, 0)) : std::vector<std::string>();
}

void RunEvaluations::goOn(int64_t step, double value, int64_t from) {
  bestStep = step, bestValue = value;
  worse = plan.clock.dueBetween(plan.every, step, from);
}

void RunEvaluations::judge(const Evaluation &evaluation, int64_t done) {
  std::optional<double> value = evaluation.loss();
  if (!plan.stopOn.empty() && name != "loss")
    for (const Measured &measure : evaluation.measures())
      if (measure.name == name)
        value = measure.sum.value();
  lastStep = done;
  bool better = value && std::isfinite(*value) && (bestStep < 0 || (largerIsBetter ? *value > bestValue : *value < bestValue));
  worse = better ? 0 : worse + 1;
  if (better)
    bestValue = *value, bestStep = done;
}

} // namespace npar::training
