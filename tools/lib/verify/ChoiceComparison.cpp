// Makes the two evaluations, gives one the choices of the other, and compares batch by batch.
#include "tools/lib/verify/ChoiceComparison.h"

#include "engine/training/MeasureSum.h"
#include "tools/lib/verify/Equivalence.h"
#include "tools/lib/verify/OneRank.h"
#include "tools/lib/verify/TopChoices.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

namespace npar::verify {

using engine::Result;
using engine::Session;
using engine::Status;
using models::ProgramPointer;
using Ranks = job::Processes::Ranks;

namespace {

/// Values of all choices of a batch, one list per choice.
using Choices = std::vector<std::vector<double>>;

/// An elaborated evaluation, and those of its choices that it can write.
struct Evaluated {
  models::ElaboratedModel text;
  std::vector<TopChoice> choices;
  size_t leftOut = 0; ///< further ones
};

Result<Evaluated> elaborateEvaluation(models::ModelOptions model, const models::SettingsList &settings, engine::Observer &observer) {
  model.kind = program::ProgramKind::Evaluation;
  TRY(models::ElaboratedModel text, models::elaborateModel(model, observer, settings, /*withWarnings=*/false));
  text.program.data.reset(); // the data are random
  text.program.plan.memoryLimit.reset(), text.program.plan.bubbleLimit.reset();
  const dsl::Model &graph = text.program.model;
  std::vector<TopChoice> choices = topChoicesOf(graph);
  const size_t all = choices.size();
  choices.erase(std::remove_if(choices.begin(), choices.end(), [&](const TopChoice &one) { return !isWritten(graph, one); }),
                choices.end());
  const size_t leftOut = all - choices.size();
  return Evaluated{std::move(text), std::move(choices), leftOut};
}

/// A session of an evaluation with the results of its choices.
class Evaluator {
public:
  Evaluator(ProgramPointer program, std::unique_ptr<Session> session) : program(std::move(program)), session(std::move(session)) {}

  const program::Program &root() const { return program->root(); }
  Session &its() { return *session; }

  Status step(const engine::Batch &batch, int64_t number) { return session->step(batch, number).status(); }

  const program::LogicalResult &written(const std::string &prediction) const {
    for (const program::Prediction *one : *root().predictions())
      if (one->name()->str() == prediction)
        return *root().results()->Get(one->result());
    throw std::logic_error("internal error: an evaluation does not write '" + prediction + "'");
  }
  Result<std::vector<double>> read(const program::LogicalResult &result) const {
    uint64_t elements = 1;
    for (int64_t size : *result.shape())
      elements *= static_cast<uint64_t>(size);
    return session->readResult(result.name()->str(), 0, elements);
  }
  Result<Choices> choices(size_t count) const {
    Choices all;
    for (size_t i = 0; i < count; ++i) {
      TRY(std::vector<double> values, read(written(nameOfChoices(i))));
      all.push_back(std::move(values));
    }
    return all;
  }

  /// The loss of the last step's batch, or a multiple of it that does not depend on the program: positions of a lone loss over tokens are
  /// not counted. 0 without losses.
  Result<double> loss() const {
    double total = 0;
    const auto *measures = root().measures();
    if (!measures || measures->size() == 0) {
      for (const program::LogicalResult *result : *root().results())
        if (result->name()->str() == "losses") {
          TRY(std::vector<double> values, read(*result));
          for (double value : values)
            total += value;
        }
      return total;
    }
    for (const program::Measure *measure : *measures) {
      if (measure->kind() != program::MeasureKind::Loss)
        continue;
      TRY(std::vector<double> values, read(*root().results()->Get(measure->values()->Get(0))));
      std::vector<double> counted(values.size(), 1);
      if (measure->counted() >= 0) {
        TRY(counted, read(*root().results()->Get(static_cast<uint32_t>(measure->counted()))));
      }
      training::MeasureSum sum(measure->kind());
      for (size_t i = 0; i < values.size(); ++i)
        if (counted[i] != 0)
          sum.add(values[i]);
      total += measure->weight() * sum.value().value_or(0);
    }
    return total;
  }

private:
  ProgramPointer program;
  std::unique_ptr<Session> session;
};

ChoiceShape shapeOf(const program::LogicalResult &choices, const program::LogicalResult &scores, const std::string &axis) {
  ChoiceShape shape;
  shape.samples = choices.shape()->Get(0);
  bool isBehind = false;
  for (uint32_t i = 1; i < scores.shape()->size(); ++i)
    if (scores.axes()->Get(i)->str() == axis) {
      shape.chosen = choices.shape()->Get(i), shape.entries = scores.shape()->Get(i);
      isBehind = true;
    } else {
      (isBehind ? shape.inner : shape.outer).push_back(scores.shape()->Get(i));
    }
  return shape;
}

LayerChoices layerOf(const dsl::Model &model, const TopChoice &choice, const dsl::Sources &sources) {
  const dsl::Node &node = model.nodes[static_cast<size_t>(choice.node)];
  std::string file = node.location.file < sources.size() ? std::filesystem::path(sources.name(node.location.file)).filename().string() : "";
  return {node.path, choice.axis, fmt::format("{}:{}:{}", file, node.location.line, node.location.column)};
}

/// The inputs of a program by name, out of those of another one and of choices.
engine::Batch batchFor(const program::Program &program, const program::Program &from, const engine::Batch &batch, const Choices &choices) {
  engine::Batch result;
  for (const program::LogicalInput *input : *program.inputs()) {
    for (size_t i = 0; i < batch.size(); ++i)
      if (from.inputs()->Get(static_cast<uint32_t>(i))->name()->str() == input->name()->str())
        result.push_back(batch[i]);
    for (size_t i = 0; i < choices.size(); ++i)
      if (input->name()->str() == nameOfChoices(i))
        result.emplace_back(std::vector<int32_t>(choices[i].begin(), choices[i].end()));
  }
  return result;
}

double relativeChange(double value, double from) { return value == from ? 0 : std::fabs(value - from) / std::fabs(from); }

/// Compares the evaluations of a plan and of one rank in float64, batch by batch.
class Evaluations {
public:
  Evaluations(Evaluator plan, Evaluator exact, ChoiceReport report)
      : plan(std::move(plan)), exact(std::move(exact)), report(std::move(report)) {}

  Result<ChoiceReport> run(int64_t batches, uint64_t seed, engine::Observer &observer) {
    for (Evaluator *one : {&plan, &exact})
      TRY_STATUS(disturbParameters(one->its(), one->root(), seed));
    std::unique_ptr<engine::DataSource> data = dataFor(plan.root(), seed);
    for (; report.batches < batches; ++report.batches) {
      TRY_STATUS(engine::stopIfAsked(observer, "the verification"));
      TRY_STATUS(compare(data->batch(report.batches)));
    }
    return std::move(report);
  }

private:
  Status compare(const engine::Batch &batch) {
    TRY_STATUS(plan.step(batch, report.batches));
    TRY(Choices chosen, plan.choices(report.layers.size()));
    TRY(Choices own, chooseAfter(batch, chosen));
    int64_t before = report.flipped();
    for (size_t i = 0; i < chosen.size(); ++i) {
      TRY(std::vector<double> scores, plan.read(plan.written(nameOfScores(i))));
      TRY(std::vector<double> exactScores, exact.read(exact.written(nameOfScores(i))));
      addFlips(shapeOf(exact.written(nameOfChoices(i)), exact.written(nameOfScores(i)), report.layers[i].axis),
               {chosen[i], own[i], scores, exactScores}, report.batches, report.layers[i]);
    }
    if (!report.hasLoss)
      return {};
    TRY(double planLoss, plan.loss());
    TRY(double withChoices, exact.loss());
    double without = withChoices;
    if (report.flipped() > before) {
      TRY(without, lossOfOwnChoices(batch, std::move(own)));
    }
    report.lossByChoices = std::max(report.lossByChoices, relativeChange(withChoices, without));
    report.lossError = std::max(report.lossError, relativeChange(planLoss, withChoices));
    return {};
  }

  /// Evaluates in float64 with given choices. Returns the choices that follow from the scores.
  Result<Choices> chooseAfter(const engine::Batch &batch, const Choices &given) {
    TRY_STATUS(exact.step(batchFor(exact.root(), plan.root(), batch, given), report.batches));
    return exact.choices(given.size());
  }

  /// Gives float64 its own choices, until the choices of all places follow from those of the places before them.
  Result<double> lossOfOwnChoices(const engine::Batch &batch, Choices own) {
    for (size_t places = 0; places <= own.size(); ++places) {
      TRY(Choices next, chooseAfter(batch, own));
      if (next == own)
        return exact.loss();
      own = std::move(next);
    }
    return Status::internal("internal error: the choices in float64 depend on themselves");
  }

  Evaluator plan, exact;
  ChoiceReport report;
};

} // namespace

ChoiceComparison::ChoiceComparison(models::ModelOptions model, job::Processes &processes, engine::Observer &observer,
                                   CreateSession createSession, CheckMemory checkMemory)
    : model(std::move(model)), processes(processes), observer(observer), createSession(std::move(createSession)),
      checkMemory(std::move(checkMemory)) {
  this->model.damped = true; // like the trainings that are compared
}

bool ChoiceComparison::hasChoices(const dsl::Model &model) { return !topChoicesOf(model).empty(); }

Result<std::optional<ChoiceReport>> ChoiceComparison::compare(int64_t batches, uint64_t seed) {
  return compareRanks(Ranks::Shared, batches, seed);
}

Result<std::optional<ChoiceReport>> ChoiceComparison::compareOneRank(int64_t batches, uint64_t seed) {
  return compareRanks(Ranks::AllInEach, batches, seed);
}

Result<std::optional<ChoiceReport>> ChoiceComparison::compareRanks(Ranks ranks, int64_t batches, uint64_t seed) {
  engine::Activity activity(observer, "comparing choices with float64");
  Result<Evaluated> evaluation = elaborateEvaluation(model, {}, observer);
  TRY_STATUS(processes.agree(evaluation.status()));
  Result<Evaluated> wide = elaborateEvaluation(model, {{"compute", "f64"}}, observer);
  TRY_STATUS(processes.agree(wide.status()));
  const dsl::Program &text = evaluation->text.program;
  if (evaluation->choices.empty())
    return std::optional<ChoiceReport>();
  ChoiceReport report;
  for (const TopChoice &choice : evaluation->choices)
    report.layers.push_back(layerOf(text.model, choice, evaluation->text.compilation->texts()));
  report.leftOut = evaluation->leftOut, report.hasLoss = !text.model.losses.empty();
  auto compile = [&](Evaluated &one, bool takes, bool alone) {
    dsl::Program program = alone ? onOneRank(one.text.program) : one.text.program;
    (takes ? takeChoices : writeChoices)(program.model, one.choices);
    return one.text.compilation->compile(program, /*withoutKernels=*/false, model.targets, /*withWarnings=*/false);
  };
  bool alone = ranks == Ranks::AllInEach;
  TRY(ProgramPointer planProgram, processes.share([&] { return compile(*evaluation, /*takes=*/false, alone); }, ranks));
  TRY(ProgramPointer exactProgram, processes.share([&] { return compile(*wide, /*takes=*/true, /*alone=*/true); }, Ranks::AllInEach));
  TRY_STATUS(processes.agree(checkMemory({planProgram, exactProgram})));
  TRY(SessionPointer planSession, createSession(planProgram, ranks));
  TRY(SessionPointer exactSession, createSession(exactProgram, Ranks::AllInEach));
  TRY(report,
      Evaluations(Evaluator(planProgram, std::move(planSession)), Evaluator(exactProgram, std::move(exactSession)), std::move(report))
          .run(batches, seed, observer));
  return std::optional<ChoiceReport>(std::move(report));
}

} // namespace npar::verify
