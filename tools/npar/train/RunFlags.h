// The flags of `npar train`, and the training loop that they steer.
#pragma once

#include "engine/training/RunCheckpoints.h"
#include "engine/training/RunEvaluations.h"
#include "engine/training/RunLogs.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/train/DataFlags.h"
#include "tools/npar/train/RunTuning.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

using training::RunCheckpoints;
using training::RunEvaluations;
using training::RunLogs;

struct RunFlags {
  ModelOptions model;
  JobOptions job;
  DataFlags data;
  ChosenDevice device;
  std::string checkpoint;      ///< the folder of checkpoints; empty: not given
  int64_t every = 0, keep = 0; ///< steps between two of them, 0: only at the end; how many stay, 0: all
  bool resume = false;
  std::vector<std::string> logs;
  std::vector<std::string> fresh; ///< patterns of parameters that --weights does not set
  std::string weights, saveWeights, trace, nonfinite = "stop";
  int64_t steps = 100, traceSteps = 0;  ///< 0: not given
  int64_t evalEvery = 0, stopAfter = 0; ///< steps between evaluations; evaluations without a better one before the run ends; 0: not given
  int64_t checkReplicas = 0;            ///< steps between two comparisons of replicas; 0: not given
  std::vector<std::string> evalData;    ///< FILE or INPUT=FILE
  std::string stopOn;                   ///< what is to become better; empty: the loss
  std::string tune;                     ///< what the first steps try: "buckets"; empty: nothing
  std::optional<uint64_t> seed;
  int threads = 0;
  double timeout = 300;
  bool quiet = false, json = false;
};

class Job;

/// Trains a loaded program: data in, logs, trace, checkpoints, weights and a summary out. `data`: where the inputs come from; null: random
/// values. `logs` are claimed already, by the voice of the job.
ExitCode train(const RunFlags &flags, Job &job, ProgramPointer program, const engine::DataPlan *data, RunLogs &logs,
               RunCheckpoints &checkpoints, RunEvaluations &evaluations, RunTuning &tuning);

} // namespace npar::driver
