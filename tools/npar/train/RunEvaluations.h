// The evaluations of one `npar train` (--eval-every). They use a forward-only program of the same text and plan with memory of its own,
// into which the training's parameters are copied each time. The training's memory is only read.
#pragma once

#include "engine/data/OncePass.h"

#include "engine/training/EvaluationReport.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/measure/EvaluationProgram.h"
#include "tools/npar/train/RunFlags.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

/// Without --eval-every every function does nothing and succeeds. A function that returns an ExitCode has printed its errors.
class RunEvaluations {
public:
  explicit RunEvaluations(const RunFlags &flags) : flags(flags) {}

  bool wanted() const { return flags.evalEvery > 0; }
  /// Compiles the program and opens the data: those of --eval-data, else the last part of the data block's split.
  ExitCode prepare(Job &job, const program::Program &training, FileClaims &files);
  /// The program, for the check that there is memory for both programs; null if nothing is evaluated.
  ProgramPointer program() const { return compiled; }
  /// The input files of the evaluations.
  std::vector<std::string> paths() const { return data ? data->paths() : std::vector<std::string>(); }
  /// Starts the session, which allocates the memory.
  ExitCode open(Job &job, const engine::SessionOptions &options);

  /// True if an evaluation is due after `done` steps: every N steps, and after the last one.
  bool isDue(int64_t done) const { return wanted() && (done % flags.evalEvery == 0 || done == flags.steps); }
  /// Sets the best earlier evaluation, after `step` steps, of a training that resumes at step `from`.
  void goOn(int64_t step, double value, int64_t from);
  /// Evaluates the training's current parameters.
  engine::Status run(const engine::Session &training, const program::Program &root, int64_t done);

  /// True if this run has evaluated at least once. Otherwise do not call the functions about the last evaluation.
  bool any() const { return last.has_value(); }
  std::string text() const;
  nlohmann::ordered_json json() const;
  engine::EvaluationRecord record() const;
  /// The names of the values in records.
  std::vector<std::string> names() const;
  /// True if the last evaluation was better than all before it.
  bool isBest() const { return bestStep == lastStep; }
  /// True if none of the last --eval-stop-after evaluations improved on the best one before them.
  bool isStuck() const { return flags.stopAfter > 0 && worse >= flags.stopAfter; }
  /// The value by which evaluations are compared: "loss", or the name given with --eval-stop-on.
  const std::string &watched() const { return name; }
  double best() const { return bestValue; }
  int64_t bestAt() const { return bestStep; }

private:
  Outcome<engine::DataPlan> planTo(const program::Program &root);
  ExitCode lookAtData(const program::Program &root);
  ExitCode checkWatched(const program::Program &root);
  void judge(const training::Evaluation &evaluation, int64_t done);
  engine::Status copyParameters(const engine::Session &training, const program::Program &root);

  const RunFlags &flags;
  ProgramPointer compiled;
  training::EvaluationBatch batch;
  std::unique_ptr<engine::OncePass> data;
  std::unique_ptr<engine::Session> session;
  std::optional<training::Evaluation> last;
  std::string name = "loss", tokens;
  bool largerIsBetter = false;
  double bestValue = 0;
  int64_t bestStep = -1, lastStep = -2, worse = 0;
};

} // namespace npar::driver
