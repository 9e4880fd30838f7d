// Flags of commands that use trained models: weights, model, plan and how to run.
#pragma once

#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/files/FileClaims.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/ModelFlags.h"

#include <string>
#include <vector>

namespace npar::driver {

struct UseFlags {
  JobOptions job;
  ModelOptions model; ///< its name can be a folder with weights
  std::string weights;
  int threads = 0;
  double timeout = 300;
  ChosenDevice device;
  bool quiet = false, json = false;
  std::vector<std::string> checkpoints; ///< the newest checkpoints in the given folders

  /// Adds the flags for model, plan and weights.
  void addModelTo(CLI::App &app);
  /// Adds the flags for reports, devices and processes.
  void addRunTo(CLI::App &app);
};

} // namespace npar::driver
