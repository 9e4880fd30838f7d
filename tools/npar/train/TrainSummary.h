// What a training run came to, and how that is told.
#pragma once

#include "engine/runtime/Replicas.h"
#include "tools/npar/job/Job.h"
#include "tools/npar/train/RunCheckpoints.h"
#include "tools/npar/train/RunEvaluations.h"
#include "tools/npar/train/RunFlags.h"
#include "tools/npar/train/StepNote.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct Training {
  int64_t first = 0, steps = 0;       ///< the step that it began with; done, those before that one included
  int64_t unsound = 0, idle = 0;      ///< of them: with numbers that are not finite; without a target that counts
  std::string firstUnsound;           ///< what was wrong with the first of these
  std::optional<int64_t> validTokens; ///< of all steps
  double loss = 0;
  std::vector<engine::NamedLoss> losses;   ///< of the last step, those that have names
  std::string unit = "tokens";             ///< of speeds: samples where no tokens are predicted
  double perSecond = 0;                    ///< over all steps but the first, which also warms up; of the first when it is the only one
  engine::Status log, checkpoint;          ///< what cannot be written ends the training, but what was learned is not lost
  std::optional<engine::ReplicaDifference> corrupt; ///< replicas that differ end the training; nothing is kept of it
  int64_t compared = 0;                             ///< the step after which all replicas were last the same; where the run began
  std::string stoppedBy;                   ///< the signal that ended it before its last step; empty: none
  std::optional<std::string> badParameter; ///< the first that is not finite at the end
  std::vector<RowHash> rows;               ///< of the batch of this step, as far as this process reads it
  double waited = 0;                       ///< seconds in which a batch was not ready yet
  std::optional<int64_t> epoch;            ///< of the next sample; nothing where data have no end
  std::vector<ClockOffset> clocks;         ///< by process, where a trace is collected
};

/// What the run came to that its numbers do not tell.
void remark(const RunFlags &flags, const Training &training, const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

/// Exit code and message of a run that came to its end but not to a good one. `checkpoint`: the newest one; empty: none.
ExitCode verdict(const RunFlags &flags, const Training &training, const std::string &checkpoint);

/// What a run came to, in words or as JSON: asked of all processes, printed by the voice.
engine::Status printSummary(const RunFlags &flags, const Job &job, const engine::Session &session, const Training &training,
                            const RunCheckpoints &checkpoints, const RunEvaluations &evaluations);

} // namespace npar::driver
