// The outcome of a training run, and its report to the user.
#pragma once

#include "engine/job/ClockOffsets.h"
#include "engine/logging/LogFormat.h"
#include "engine/training/Trainer.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/train/RunFlags.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct Training : training::TrainingResult {
  std::string unit = "tokens";             ///< unit of speeds: "samples" if no tokens are predicted
  engine::Status log, checkpoint;          ///< write errors, which end the training but are not failures of its steps
  std::optional<std::string> badParameter; ///< the first parameter or state that is not finite at the end
  std::vector<job::ClockOffset> clocks;    ///< one per process, if a trace is collected
  int64_t planned = 0;                     ///< steps done at the end of a run that nothing stops
  std::vector<engine::EpochRecord> epochs; ///< summaries of a run over epochs
};

/// Prints remarks about facts that the summary's numbers do not show.
void remark(const RunFlags &flags, const Training &training, const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

/// Prints the error of a run that finished without success, and returns its exit code. `checkpoint`: the newest one; empty: none.
ExitCode verdict(const RunFlags &flags, const Training &training, const std::string &checkpoint);

/// Prints the summary as text or JSON. All processes must call it together; the voice prints.
engine::Status printSummary(const RunFlags &flags, const Job &job, const engine::Session &session, const Training &training,
                            const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

} // namespace npar::driver
