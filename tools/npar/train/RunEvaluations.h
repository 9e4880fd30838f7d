// The evaluations of one `npar train` (--eval-every): a forward-only program beside the training's, of the same text and plan, which gets
// the training's parameters each time. The training's own memory is only read.
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

/// Without --eval-every every call does nothing and is good. Errors of the kind ExitCode were printed.
class RunEvaluations {
public:
  explicit RunEvaluations(const RunFlags &flags) : flags(flags) {}

  bool wanted() const { return flags.evalEvery > 0; }
  /// Compiles, and looks at the data: those of --eval-data, else the last part of the data block's split.
  ExitCode prepare(Job &job, const program::Program &training, FileClaims &files);
  /// Null where nothing is evaluated: for the question whether there is memory for both programs.
  ProgramPointer program() const { return compiled; }
  /// The files that it reads.
  std::vector<std::string> paths() const { return data ? data->paths() : std::vector<std::string>(); }
  /// Takes memory.
  ExitCode open(Job &job, const engine::SessionOptions &options);

  /// Whether an evaluation comes after so many steps: every N, and after the last one.
  bool isDue(int64_t done) const { return wanted() && (done % flags.evalEvery == 0 || done == flags.steps); }
  /// What was the best before this run, where it goes on `from` a later step.
  void goOn(int64_t step, double value, int64_t from);
  /// Evaluates the parameters that the training has now.
  engine::Status run(const engine::Session &training, const program::Program &root, int64_t done);

  /// Whether there was one in this run; what is of the last one goes only then.
  bool any() const { return last.has_value(); }
  std::string text() const;
  nlohmann::ordered_json json() const;
  engine::EvaluationRecord record() const;
  /// Of the values of records.
  std::vector<std::string> names() const;
  /// The last evaluation was better than all before it.
  bool isBest() const { return bestStep == lastStep; }
  /// None of the last --eval-stop-after evaluations was better than one before them.
  bool isStuck() const { return flags.stopAfter > 0 && worse >= flags.stopAfter; }
  /// What is looked at: "loss", or the name that --eval-stop-on gives.
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
