// Training on files and evaluation, with the present parameters of a trainer.
#include "tools/api/Origin.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/CompilerLibrary.h"
#include "tools/api/library/ForwardPrograms.h"
#include "tools/api/library/Trainer.h"

#include "engine/data/GivenData.h"
#include "engine/job/Processes.h"
#include "engine/json/Document.h"
#include "engine/program/Words.h"
#include "engine/training/EvaluationReport.h"
#include "engine/training/RunCheckpoints.h"
#include "engine/training/RunEvaluations.h"
#include "engine/training/Trainer.h"

#include <fmt/format.h>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::Result;
using npar::engine::Status;

namespace npar::api {
namespace {

/// The data of a struct of options, whose files are called `member` there, checked.
Result<engine::GivenData> dataOf(const std::string &owner, const std::string &member, const npar_str *files, size_t count,
                                 npar_str tokens) {
  TRY_STATUS(Arguments(owner).texts(files, count, member).text(tokens, "tokens").status());
  engine::GivenData data;
  for (size_t i = 0; i < count; ++i)
    data.files.push_back(textOf(files[i]));
  data.tokens = textOf(tokens);
  return data;
}

/// A program of the host for evaluation, and the member of npar.h that has it.
struct GivenProgram {
  const npar_program *program; ///< may be null
  const char *member;
};

/// Finds the program that the trainer evaluates with: the host's, or one compiled from the text of the trainer's own program.
Result<program::ProgramPointer> forwardProgram(npar_trainer &trainer, GivenProgram given, npar_observer observer) {
  if (given.program) {
    TRY_STATUS(checkForward(trainer.root(), given.program->program->root(), program::ProgramKind::Evaluation, given.member));
    return given.program->program;
  }
  if (trainer.root().kind() == program::ProgramKind::Evaluation)
    return trainer.memory->program;
  if (!trainer.request)
    return Status::usage(
        fmt::format("the trainer's program was opened, not compiled: compile its text for evaluation and give it as {}", given.member));
  TRY(const CompilerTable *compiler, compilerLibrary());
  CompilerAnswer answer;
  compiler->compile(trainer.request->replaying(NPAR_EVALUATION, observer, &trainer.stop), answer.receiver());
  TRY_STATUS(answer.status);
  return answer.program("program");
}

/// Chooses the data to evaluate on: the host's, else the last part of the data block's split, or all of an unsplit block.
Result<engine::DataPlan> evaluationData(const engine::GivenData &given, const program::Program &program, bool splitOnly) {
  if (given.files.empty() && splitOnly && (!program.data() || program.data()->shares()->size() <= 1))
    return Status::badInput("no data are reserved for evaluation: set evaluate_data, or write a data block with `split 0.9, 0.1 seed 42`");
  TRY(engine::DataPlan plan, engine::planOf(given, program, engine::BatchShape::of(program)));
  if (!given.files.empty())
    plan.split = {};
  else if (!plan.split.shares.empty())
    plan.split.part = plan.split.shares.size() - 1;
  return plan;
}

Status prepare(npar_trainer &trainer, training::RunEvaluations &evaluations, GivenProgram given, const engine::GivenData &data,
               bool splitOnly, npar_observer observer) {
  TRY(program::ProgramPointer program, forwardProgram(trainer, given, observer));
  TRY_STATUS(evaluations.take(program, {program->root().batch(), training::BatchReason::Program}));
  TRY(engine::DataPlan plan, evaluationData(data, program->root(), splitOnly));
  TRY_STATUS(evaluations.openData(plan, data.tokens));
  job::Processes alone;
  return evaluations.open(alone, trainer.options);
}

/// Tells the host, evaluates and saves between the steps of a run.
class RunObserver final : public training::TrainingObserver {
public:
  RunObserver(npar_trainer &trainer, HostObserver &host, training::RunCheckpoints &checkpoints, training::RunEvaluations &evaluations)
      : trainer(trainer), host(host), checkpoints(checkpoints), evaluations(evaluations), saved(checkpoints.newest()) {}

  std::string wantsToEnd() override {
    stopped = trainer.takesStop() || host.wantsToStop() || stopped;
    return stopped ? "the host" : "";
  }
  void finished(const training::StepReport &report) override {
    trainer.done = report.step + 1;
    npar_step_result told = trainer.resultOf(report.result, report.step, report.seconds);
    host.tell(NPAR_EVENT_STEP, "", report.step + 1, steps, &told);
  }
  Result<bool> between(int64_t done, const training::StepReport &report) override {
    if (evaluations.isDue(done)) {
      TRY_STATUS(evaluations.run(trainer.session(), trainer.root(), done));
      host.tell(NPAR_EVENT_EVALUATED, json::documentText(evaluations.json()), done, steps);
    }
    TRY_STATUS(checkpoints.afterStep(done, report.result.learningRate));
    tellSaved(done);
    return false;
  }
  /// Tells the host of a checkpoint that has become complete.
  void tellSaved(int64_t done) {
    if (std::string newest = checkpoints.newest(); newest != saved) {
      saved = std::move(newest);
      host.tell(NPAR_EVENT_SAVED, saved, done, steps);
    }
  }

  int64_t steps = 0;
  bool stopped = false;

private:
  npar_trainer &trainer;
  HostObserver &host;
  training::RunCheckpoints &checkpoints;
  training::RunEvaluations &evaluations;
  std::string saved; ///< the newest checkpoint that the host knows; at first the one to resume from
};

OrderedJson reportOf(const npar_trainer &trainer, const training::Trainer &run, const training::RunCheckpoints &checkpoints,
                     const training::RunEvaluations &evaluations) {
  const training::TrainingResult &result = run.result();
  OrderedJson json = {{"steps", result.steps}, {"first_step", result.first}, {"loss", result.loss}};
  for (const engine::NamedLoss &loss : result.losses)
    json["losses"][loss.name] = loss.value;
  json[std::string(run.unit()) + "_per_second"] = result.perSecond;
  if (result.validTokens)
    json["valid_tokens"] = *result.validTokens;
  if (result.epoch)
    json["epoch"] = *result.epoch;
  if (evaluations.any())
    json["eval"] = evaluations.json();
  json["data_wait_seconds"] = result.waited;
  json["parameter_hash"] = trainer.session().parameterHash();
  if (std::string states = trainer.session().stateHash(); !states.empty())
    json["state_hash"] = states;
  if (trainer.session().productOrder())
    json["products"] = program::wordOf(*trainer.session().productOrder());
  if (checkpoints.wanted()) {
    json["checkpoint"] = checkpoints.newest();
    json["failed_checkpoints"] = OrderedJson::array();
    for (const engine::FailedSaveRecord &failed : checkpoints.failures())
      json["failed_checkpoints"].push_back({{"step", failed.step}, {"error", failed.why}});
  }
  return json;
}

Status check(const npar_run_options &given) {
  return Arguments("npar_run_options")
      .whole(given.steps, "steps")
      .text(given.data_order, "data_order")
      .text(given.checkpoint, "checkpoint")
      .whole(given.checkpoint_every, "checkpoint_every")
      .whole(given.checkpoint_keep, "checkpoint_keep")
      .whole(given.evaluate_every, "evaluate_every")
      .status();
}

Status run(npar_trainer &trainer, const npar_run_options &given, npar_buffer **result) {
  TRY_STATUS(trainer.checkAlone("npar_trainer_run", "train on batches instead of files, or on files with `npar launch`"));
  const program::Program &root = trainer.root();
  if (root.kind() != program::ProgramKind::Training)
    return Status::usage("npar_trainer_run: the trainer's program was not compiled for training");
  TRY_STATUS(check(given));
  if (given.steps <= trainer.done)
    return Status::usage(
        fmt::format("npar_run_options: steps is {}, and {} steps are done: it must be larger, because it counts those before", given.steps,
                    trainer.done));
  TRY(engine::GivenData data, dataOf("npar_run_options", "data", given.data, given.data_count, given.tokens));
  data.order = textOf(given.data_order), data.random = given.random_data != 0, data.mayBeRandom = true;
  TRY_STATUS(data.check());
  TRY(engine::GivenData evaluationFiles,
      dataOf("npar_run_options", "evaluate_data", given.evaluate_data, given.evaluate_data_count, given.tokens));
  HostObserver host(given.observer);
  training::RunClock clock(given.steps);
  training::CheckpointPlan plan;
  plan.folder = textOf(given.checkpoint), plan.every = training::Interval(given.checkpoint_every), plan.keep = given.checkpoint_keep;
  plan.resume = given.resume != 0, plan.seed = trainer.options.seed, plan.clock = &clock;
  if (plan.folder.empty() && (plan.every.isGiven() || plan.keep > 0 || plan.resume))
    return Status::usage("npar_run_options: checkpoint_every, checkpoint_keep and resume need checkpoint, a folder");
  training::RunCheckpoints checkpoints(std::move(plan), host);
  training::RunEvaluations evaluations({training::Interval(given.evaluate_every), clock, 0, ""});
  job::Processes alone;
  TRY_STATUS(checkpoints.look());
  TRY_STATUS(checkpoints.choose(alone));
  if (!trainer.origin.empty())
    checkpoints.keepModel(unpackOrigin(trainer.origin), trainer.weights);
  std::unique_ptr<engine::DataSource> source;
  if (data.random) {
    source = engine::DataSource::random(trainer.options.seed, trainer.shape);
  } else {
    TRY(engine::DataPlan from, engine::planOf(data, root, trainer.shape));
    TRY(source, engine::DataSource::open(from, trainer.options.seed, trainer.shape));
  }
  source->useWorkers(trainer.options.threads);
  for (const std::string &text : source->remarks())
    host.remark(text);
  TRY_STATUS(checkpoints.goOn(root, *source, trainer.shape));
  if (evaluations.wanted())
    TRY_STATUS(prepare(trainer, evaluations, {given.evaluation, "npar_run_options.evaluation"}, evaluationFiles, true, given.observer));
  TRY_STATUS(checkpoints.open(alone, trainer.session(), trainer.memory->program));
  if (checkpoints.resumes())
    trainer.done = checkpoints.firstStep();
  if (checkpoints.wanted())
    trainer.usesFolder(textOf(given.checkpoint));

  TRY_STATUS(engine::checkRates(root, clock.length()));
  TRY_STATUS(trainer.session().setRun(clock.length()));
  RunObserver observer(trainer, host, checkpoints, evaluations);
  observer.steps = given.steps;
  training::TrainerOptions options;
  options.steps = given.steps, options.computes = trainer.options.backend != "null";
  training::Trainer steps(root, options, observer);
  Status trained = steps.run(trainer.session(), *source, trainer.done);
  bool sound = trained.ok() && steps.result().notFinite == 0;
  Status written = trained.ok() ? checkpoints.atEnd(steps.result().steps, sound) : Status();
  observer.tellSaved(trainer.done);
  TRY_STATUS(trained);
  TRY_STATUS(written);
  if (!sound)
    return Status::runFailed(steps.result().firstNotFinite);
  if (observer.stopped && steps.result().steps < given.steps)
    return Status::stopped("the training");
  give(result, json::documentText(reportOf(trainer, steps, checkpoints, evaluations)));
  return {};
}

Status evaluate(npar_trainer &trainer, const npar_evaluate_options &given, npar_buffer **result) {
  TRY_STATUS(trainer.checkAlone("npar_trainer_evaluate", "evaluate batches instead of files, or files with `npar launch`"));
  TRY(engine::GivenData data, dataOf("npar_evaluate_options", "data", given.data, given.data_count, given.tokens));
  TRY_STATUS(data.check());
  training::RunClock clock(trainer.done);
  training::RunEvaluations evaluations({training::Interval(1), clock, 0, ""});
  TRY_STATUS(prepare(trainer, evaluations, {given.program, "npar_evaluate_options.program"}, data, false, given.observer));
  HostObserver host(given.observer);
  TRY_STATUS(evaluations.run(trainer.session(), trainer.root(), trainer.done, [&](int64_t done, int64_t total) {
    host.tell(NPAR_EVENT_STEP, "", done, total);
    return trainer.takesStop() || host.wantsToStop() ? Status::stopped("the evaluation") : Status();
  }));
  give(result, json::documentText(evaluations.json()));
  return {};
}

} // namespace
} // namespace npar::api

extern "C" {

npar_code npar_trainer_run(npar_trainer *trainer, const npar_run_options *options, npar_buffer **json, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_run", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::needs(options, "npar_trainer_run", "options"));
    TRY(npar_run_options given, api::optionsOf(options, "npar_run_options"));
    TRY_STATUS(api::needs(json, "npar_trainer_run", "json"));
    return api::run(own, given, json);
  });
}

npar_code npar_trainer_evaluated(npar_trainer *trainer, npar_buffer **json, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_evaluated", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::needs(json, "npar_trainer_evaluated", "json"));
    if (own.root().kind() != program::ProgramKind::Evaluation)
      return Status::usage("npar_trainer_evaluated: the trainer's program was not compiled for evaluation");
    if (!own.evaluation)
      return Status::usage("npar_trainer_evaluated: no step was made since the last call");
    std::unique_ptr<training::Evaluation> whole = std::move(own.evaluation);
    if (whole->hasLoss() && whole->counted() == 0)
      return Status::badInput("no target of the evaluation data counts in the loss");
    OrderedJson report = training::jsonOf(*whole, "", own.evaluated);
    report["batch"] = {{"samples", own.shape.rows}, {"chosen_by", "program"}};
    api::give(json, json::documentText(std::move(report)));
    return {};
  });
}

npar_code npar_trainer_evaluate(npar_trainer *trainer, const npar_evaluate_options *options, npar_buffer **json, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_evaluate", error, [&](npar_trainer &own) -> Status {
    TRY(npar_evaluate_options given, api::optionsOf(options, "npar_evaluate_options"));
    TRY_STATUS(api::needs(json, "npar_trainer_evaluate", "json"));
    return api::evaluate(own, given, json);
  });
}
}
