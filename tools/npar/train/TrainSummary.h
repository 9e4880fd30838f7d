// What a training run came to, and how that is told.
#pragma once

#include "engine/training/Trainer.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/train/RunCheckpoints.h"
#include "tools/npar/train/RunEvaluations.h"
#include "tools/npar/train/RunFlags.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct Training : training::TrainingResult {
  std::string unit = "tokens";             ///< of speeds: "samples" if no tokens are predicted
  engine::Status log, checkpoint;          ///< a file that cannot be written ends the training, but not as a failure of its steps
  std::optional<std::string> badParameter; ///< the first parameter that is not finite at the end
  std::vector<job::ClockOffset> clocks;    ///< by process, where a trace is collected
};

/// What the run came to that its numbers do not tell.
void remark(const RunFlags &flags, const Training &training, const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

/// Exit code and message of a run that came to its end but not to a good one. `checkpoint`: the newest one; empty: none.
ExitCode verdict(const RunFlags &flags, const Training &training, const std::string &checkpoint);

/// What a run came to, in words or as JSON: asked of all processes, printed by the voice.
engine::Status printSummary(const RunFlags &flags, const Job &job, const engine::Session &session, const Training &training,
                            const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

} // namespace npar::driver
