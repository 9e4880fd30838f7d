// Makes the two evaluations, gives one the choices of the other, and compares step by step.
#include "tools/lib/verify/ChoiceComparison.h"

#include "dsl/NeededNodes.h"
#include "engine/program/Precision.h"
#include "engine/training/MeasureSum.h"
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

/// An elaborated text, and those of its choices that an evaluation can write.
struct Elaborated {
  models::ElaboratedModel text;
  std::vector<TopChoice> choices;
  size_t leftOut = 0; ///< further ones
};

Result<Elaborated> elaborateWithChoices(models::ModelOptions model, program::ProgramKind kind, const models::SettingsList &settings,
                                        engine::Observer &observer) {
  model.kind = kind;
  model.damped = true; // like the trainings that are compared
  TRY(models::ElaboratedModel text, models::elaborateModel(model, observer, settings, /*withWarnings=*/false));
  text.program.data.reset(); // the data are random
  text.program.plan.memoryLimit.reset(), text.program.plan.bubbleLimit.reset();
  const dsl::Model &graph = text.program.model;
  std::vector<TopChoice> choices = topChoicesOf(graph);
  const size_t all = choices.size();
  choices.erase(std::remove_if(choices.begin(), choices.end(), [&](const TopChoice &one) { return !isWritten(graph, one); }),
                choices.end());
  const size_t leftOut = all - choices.size();
  return Elaborated{std::move(text), std::move(choices), leftOut};
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

/// The values of a parameter before they are rounded to its type.
Result<std::vector<double>> unrounded(const Session &session, const program::Program &program, uint32_t parameter) {
  int64_t master = program::masterOf(program, parameter);
  return session.read(program.variables()->Get(master >= 0 ? static_cast<uint32_t>(master) : parameter)->name()->str());
}

/// Programs that write or take the same choices.
struct Programs {
  ProgramPointer plan, exact; ///< evaluations
  ProgramPointer training;    ///< on one rank in float64; null if its choices can be others than an evaluation's
};

class StepByStep : public ChoiceComparison {
public:
  StepByStep(Request request, Programs compiled, ChoiceReport start)
      : request(std::move(request)), compiled(std::move(compiled)), start(std::move(start)) {}

  std::vector<ProgramPointer> evaluations() const override { return {compiled.plan, compiled.exact}; }
  const ProgramPointer &reference() const override { return compiled.training; }
  const ChoiceReport &report() const override { return found; }

  Status begin() override {
    found = start;
    if (plan)
      return {};
    TRY(SessionPointer ofPlan, request.createSession(compiled.plan, request.ranks));
    TRY(SessionPointer ofOneRank, request.createSession(compiled.exact, Ranks::AllInEach));
    plan.emplace(compiled.plan, std::move(ofPlan)), exact.emplace(compiled.exact, std::move(ofOneRank));
    return {};
  }

  Result<engine::Batch> compare(const Session &training, const program::Program &program, const engine::Batch &batch,
                                int64_t step) override {
    TRY_STATUS(copyParameters(training, program));
    TRY_STATUS(plan->step(batchFor(plan->root(), program, batch, {}), step));
    TRY(Choices chosen, plan->choices(found.layers.size()));
    TRY_STATUS(compareChoices({program, batch, step}, chosen));
    ++found.batches;
    return compiled.training ? batchFor(compiled.training->root(), program, batch, chosen) : batch;
  }

private:
  /// A batch of the training's inputs.
  struct Step {
    const program::Program &program;
    const engine::Batch &batch;
    int64_t number;
  };

  Status copyParameters(const Session &training, const program::Program &program) {
    for (uint32_t i = 0; i < program.variables()->size(); ++i) {
      const program::Variable &variable = *program.variables()->Get(i);
      if (variable.kind() != program::VariableKind::Parameter)
        continue;
      TRY(std::vector<double> values, unrounded(training, program, i));
      for (Evaluator *one : {&*plan, &*exact})
        TRY_STATUS(one->its().write(variable.name()->str(), values));
    }
    return {};
  }

  Status compareChoices(const Step &step, const Choices &chosen) {
    TRY(Choices own, chooseAfter(step, chosen));
    int64_t before = found.flipped();
    for (size_t i = 0; i < chosen.size(); ++i) {
      TRY(std::vector<double> scores, plan->read(plan->written(nameOfScores(i))));
      TRY(std::vector<double> exactScores, exact->read(exact->written(nameOfScores(i))));
      addFlips(shapeOf(exact->written(nameOfChoices(i)), exact->written(nameOfScores(i)), found.layers[i].axis),
               {chosen[i], own[i], scores, exactScores}, found.batches, found.layers[i]);
    }
    if (!found.hasLoss)
      return {};
    TRY(double planLoss, plan->loss());
    TRY(double withChoices, exact->loss());
    double without = withChoices;
    if (found.flipped() > before) {
      TRY(without, lossOfOwnChoices(step, std::move(own)));
    }
    found.lossByChoices = std::max(found.lossByChoices, relativeChange(withChoices, without));
    found.lossError = std::max(found.lossError, relativeChange(planLoss, withChoices));
    return {};
  }

  /// Evaluates in float64 with given choices. Returns the choices that follow from the scores.
  Result<Choices> chooseAfter(const Step &step, const Choices &given) {
    TRY_STATUS(exact->step(batchFor(exact->root(), step.program, step.batch, given), step.number));
    return exact->choices(given.size());
  }

  /// Gives float64 its own choices, until the choices of all places follow from those of the places before them.
  Result<double> lossOfOwnChoices(const Step &step, Choices own) {
    for (size_t places = 0; places <= own.size(); ++places) {
      TRY(Choices next, chooseAfter(step, own));
      if (next == own)
        return exact->loss();
      own = std::move(next);
    }
    return Status::internal("internal error: the choices in float64 depend on themselves");
  }

  Request request;
  Programs compiled;
  ChoiceReport start, found; ///< found: since `begin`
  std::optional<Evaluator> plan, exact;
};

/// True if a training's choices depend on something that an evaluation computes otherwise: dropout, or statistics of several samples.
bool choosesOtherwise(const Elaborated &training) {
  const dsl::Model &model = training.text.program.model;
  std::vector<int> choices;
  for (const TopChoice &choice : training.choices)
    choices.push_back(choice.node);
  const std::vector<bool> needed = dsl::neededFor(model, choices);
  for (size_t i = 0; i < needed.size(); ++i) {
    const dsl::Node &node = model.nodes[i];
    auto rate = node.attributes.find(node.op == "dropout" ? "rate" : "dropout");
    const bool isDropped = rate != node.attributes.end() && std::get<double>(rate->second) > 0;
    if (needed[i] && (isDropped || node.op == "group_total" || node.op == "total"))
      return true;
  }
  return false;
}

/// True if two texts choose at the same places.
bool choosesAlike(const Elaborated &one, const Elaborated &other) {
  auto isSame = [&](const TopChoice &a, const TopChoice &b) {
    const dsl::Node &first = one.text.program.model.nodes[static_cast<size_t>(a.node)];
    const dsl::Node &second = other.text.program.model.nodes[static_cast<size_t>(b.node)];
    return first.path == second.path && first.location.line == second.location.line && first.location.column == second.location.column;
  };
  return std::equal(one.choices.begin(), one.choices.end(), other.choices.begin(), other.choices.end(), isSame);
}

} // namespace

bool ChoiceComparison::hasChoices(const dsl::Model &model) { return !topChoicesOf(model).empty(); }

Result<std::unique_ptr<ChoiceComparison>> ChoiceComparison::create(const Request &request, job::Processes &processes,
                                                                   engine::Observer &observer) {
  engine::Activity activity(observer, "compiling what compares choices with float64");
  auto elaborate = [&](program::ProgramKind kind, const models::SettingsList &settings) -> Result<Elaborated> {
    Result<Elaborated> text = elaborateWithChoices(request.model, kind, settings, observer);
    TRY_STATUS(processes.agree(text.status()));
    return text;
  };
  TRY(Elaborated evaluation, elaborate(program::ProgramKind::Evaluation, {}));
  TRY(Elaborated exact, elaborate(program::ProgramKind::Evaluation, {{"compute", "f64"}}));
  TRY(Elaborated training, elaborate(program::ProgramKind::Training, {{"compute", "f64"}}));
  const dsl::Program &text = evaluation.text.program;
  if (evaluation.choices.empty())
    return std::unique_ptr<ChoiceComparison>();
  ChoiceReport report;
  for (const TopChoice &choice : evaluation.choices)
    report.layers.push_back(layerOf(text.model, choice, evaluation.text.compilation->texts()));
  report.leftOut = evaluation.leftOut, report.hasLoss = !text.model.losses.empty();
  auto compile = [&](Elaborated &one, void (*edit)(dsl::Model &, const std::vector<TopChoice> &), Ranks ranks) {
    return processes.share(
        [&] {
          dsl::Program program = ranks == Ranks::AllInEach ? onOneRank(one.text.program) : one.text.program;
          edit(program.model, one.choices);
          return one.text.compilation->compile(program, /*withoutKernels=*/false, request.model.targets, /*withWarnings=*/false);
        },
        ranks);
  };
  Programs compiled;
  TRY(compiled.plan, compile(evaluation, writeChoices, request.ranks));
  TRY(compiled.exact, compile(exact, takeAndWriteChoices, Ranks::AllInEach));
  if (!choosesOtherwise(training) && choosesAlike(evaluation, training)) {
    TRY(compiled.training, compile(training, takeChoices, Ranks::AllInEach));
  }
  return std::unique_ptr<ChoiceComparison>(std::make_unique<StepByStep>(request, std::move(compiled), std::move(report)));
}

} // namespace npar::verify
