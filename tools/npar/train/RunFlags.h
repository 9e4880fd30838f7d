// The flags of `npar train`, and the training loop that they steer.
#pragma once

#include "engine/training/RunCheckpoints.h"
#include "engine/training/RunClock.h"
#include "engine/training/RunEvaluations.h"
#include "engine/training/RunLogs.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/ForeignFlags.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/train/DataFlags.h"
#include "tools/npar/train/RunTuning.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

using training::Interval;
using training::RunCheckpoints;
using training::RunClock;
using training::RunEvaluations;
using training::RunLogs;

struct RunFlags {
  ModelOptions model;
  ForeignFlags foreign;                           ///< a run of another program in place of `model`
  std::shared_ptr<foreign::ForeignModel> run;     ///< that run, as it was read; null: none
  bool nearestModel = false, fromScratch = false; ///< what a run of another program may differ in
  JobOptions job;
  DataFlags data;
  ChosenDevice device;
  std::string checkpoint; ///< the folder of checkpoints; empty: not given
  Interval every;         ///< between two of them; not given: only at the end
  int64_t keep = 0;       ///< how many stay; 0: all
  bool resume = false;
  std::vector<std::string> logs;
  std::vector<std::string> fresh; ///< patterns of parameters that --weights does not set
  std::vector<std::string> parts; ///< weights of parameters in place of those of --weights
  std::string weights, saveWeights, trace, nonfinite = "stop";
  std::optional<int64_t> steps; ///< of the run; nothing: the epochs of the train block, or defaultSteps
  std::optional<double> epochs; ///< passes over the data instead of `steps`, counted from the start of the first run
  static constexpr int64_t defaultSteps = 100;
  int64_t traceSteps = 0;            ///< 0: not given
  Interval evalEvery;                ///< between two evaluations; not given: each epoch, in a run over epochs that can evaluate
  int64_t stopAfter = 0;             ///< evaluations without a better one before the run ends; 0: not given
  int64_t checkReplicas = 0;         ///< steps between two comparisons of replicas; 0: not given
  std::vector<std::string> evalData; ///< FILE or INPUT=FILE
  std::string stopOn;                ///< what is to become better; empty: the loss
  std::string tune;                  ///< what the first steps try: "buckets"; empty: nothing
  std::optional<uint64_t> seed;
  int threads = 0;
  double timeout = 300;
  bool quiet = false, json = false;

  void addTo(CLI::App &app);
};

class Job;

/// Trains a loaded program: data in, logs, trace, checkpoints, weights and a summary out. `data`: where the inputs come from; null: random
/// values. `logs` are claimed already, by the voice of the job. `checkpoints` start the clock, which `evaluations` read.
ExitCode train(const RunFlags &flags, Job &job, ProgramPointer program, const engine::DataPlan *data, const RunClock &clock, RunLogs &logs,
               RunCheckpoints &checkpoints, RunEvaluations &evaluations, RunTuning &tuning);

} // namespace npar::driver
