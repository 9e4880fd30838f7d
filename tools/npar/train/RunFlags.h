// The flags of `npar run`, and the training loop that they steer.
#pragma once

#include "tools/npar/files/PendingFile.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/Compilation.h"
#include "tools/npar/model/ModelOptions.h"
#include "tools/npar/train/DataFlags.h"

#include <optional>
#include <string>

namespace npar::driver {

struct RunFlags {
  ModelOptions model;
  JobOptions job;
  DataFlags data;
  std::string checkpoint;      ///< the folder of checkpoints; empty: not given
  int64_t every = 0, keep = 0; ///< steps between two of them, 0: only at the end; how many stay, 0: all
  bool resume = false;
  std::string weights, saveWeights, log, trace, backend = "cpu", nonfinite = "stop";
  int64_t steps = 100, traceSteps = 0; ///< 0: not given
  std::optional<uint64_t> seed;
  int threads = 0;
  double timeout = 300;
  bool quiet = false, json = false;
};

class Job;
class RunCheckpoints;

/// Trains a loaded program: data in, log, trace, checkpoints, weights and a summary out. `data`: where the inputs come from; null: random
/// values. `log` is claimed already, by the voice of the job; null: none.
ExitCode train(const RunFlags &flags, Job &job, ProgramPointer program, const engine::DataPlan *data, PendingFile *log,
               RunCheckpoints &checkpoints);

} // namespace npar::driver
