// The evaluations during one training run. They use a forward-only program of the same text and plan with memory of its own,
// into which the training's parameters are copied each time. The training's memory is only read.
#pragma once

#include "engine/data/DataPlan.h"
#include "engine/data/OncePass.h"
#include "engine/job/Processes.h"
#include "engine/json/JsonForward.h"
#include "engine/training/EvaluationBatch.h"
#include "engine/training/EvaluationReport.h"
#include "engine/training/RunClock.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::training {

/// Says when a run evaluates and when it stops early.
struct EvaluationPlan {
  Interval every;        ///< between two evaluations; not given: none
  const RunClock &clock; ///< of the run; must outlive the evaluations
  int64_t stopAfter = 0; ///< evaluations in a row without a better one after which the run ends; 0: not given
  std::string stopOn;    ///< what is to become better; empty: the loss
};

/// If no evaluations are planned, every function does nothing and succeeds.
class RunEvaluations {
public:
  explicit RunEvaluations(EvaluationPlan plan) : plan(std::move(plan)) {}

  bool wanted() const { return plan.every.isGiven(); }
  /// Takes the program and what its batch was chosen by. BadInput if it does not give the value that is to become better.
  engine::Status take(program::ProgramPointer program, const EvaluationBatch &chosen);
  /// Opens the data. `kind`: of their tokens ("bytes"); empty: they state it themselves.
  engine::Status openData(const engine::DataPlan &from, const std::string &kind);
  /// The program, for the check that there is memory for both programs; null if nothing is evaluated.
  program::ProgramPointer program() const { return compiled; }
  /// The input files of the evaluations.
  std::vector<std::string> paths() const { return data ? data->paths() : std::vector<std::string>(); }
  /// The names of the classes of the evaluations' data; empty if they have none.
  std::vector<std::string> classes() const { return data ? data->classes() : std::vector<std::string>(); }
  /// Starts the session, which allocates the memory.
  engine::Status open(job::Processes &processes, const engine::SessionOptions &options);

  /// True if an evaluation is due after `done` steps: every so many steps or epochs, and after the last step.
  bool isDue(int64_t done) const { return wanted() && (plan.clock.isDue(plan.every, done) || done == plan.clock.steps()); }
  /// Sets the best earlier evaluation, after `step` steps, of a training that resumes at step `from`.
  void goOn(int64_t step, double value, int64_t from);
  /// Called after each batch with the samples done and all samples; an error ends the evaluation. May be null.
  using Progress = std::function<engine::Status(int64_t done, int64_t total)>;
  /// Evaluates the training's current parameters.
  engine::Status run(const engine::Session &training, const program::Program &root, int64_t done, const Progress &progress = nullptr);

  /// True if this run has evaluated at least once. Otherwise do not call the functions about the last evaluation.
  bool any() const { return last.has_value(); }
  std::string text() const;
  OrderedJson json() const;
  engine::EvaluationRecord record() const;
  /// The names of the values in records.
  std::vector<std::string> names() const;
  /// True if the last evaluation was better than all before it.
  bool isBest() const { return bestStep == lastStep; }
  /// The steps after which the last evaluation was.
  int64_t lastAt() const { return lastStep; }
  /// True if none of the last `stopAfter` evaluations improved on the best one before them.
  bool isStuck() const { return plan.stopAfter > 0 && worse >= plan.stopAfter; }
  /// The value by which evaluations are compared: "loss", or `stopOn`.
  const std::string &watched() const { return name; }
  double best() const { return bestValue; }
  int64_t bestAt() const { return bestStep; }

private:
  void judge(const Evaluation &evaluation, int64_t done);

  EvaluationPlan plan;
  program::ProgramPointer compiled;
  EvaluationBatch batch;
  std::unique_ptr<engine::OncePass> data;
  std::unique_ptr<engine::Session> session;
  std::optional<Evaluation> last;
  std::string name = "loss", tokens;
  bool largerIsBetter = false;
  double bestValue = 0;
  int64_t bestStep = -1, lastStep = -2, worse = 0;
};

} // namespace npar::training
