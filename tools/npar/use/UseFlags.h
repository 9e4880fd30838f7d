// Flags of commands that use trained models: weights, model, plan and how to run; for `npar eval` and `npar generate`.
#pragma once

#include "tools/lib/trained/TrainedModel.h"
#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/LoadModel.h"
#include "tools/npar/model/ModelFlags.h"

#include <string>
#include <vector>

namespace npar::driver {

class Job;

struct UseFlags {
  JobOptions job;
  ModelOptions model; ///< its name can be a folder with weights
  std::string weights;
  std::vector<std::string> parts; ///< weights of parameters in place of those of `weights`
  int threads = 0;
  double timeout = 300;
  ChosenDevice device;
  bool quiet = false, json = false;
  std::vector<std::string> checkpoints; ///< the newest checkpoints in the given folders

  /// Adds the flags for model, plan and weights.
  void addModelTo(CLI::App &app);
  /// Adds the flags for reports, devices and processes.
  void addRunTo(CLI::App &app);
  trained::StartOptions start() const;
};

/// Replaces a folder of checkpoints given as model, weights or part by the newest checkpoint that process 0 finds in it; the other
/// processes check that they find the same one.
ExitCode settleFolders(Job &job, UseFlags &flags);
/// Returns `code`, after a remark if a checkpoint that was found has been removed since, which may be why the command failed.
ExitCode explained(ExitCode code, const UseFlags &flags);

} // namespace npar::driver
