// The flags of commands that use what was trained: which weights, for which model, under which plan.
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
  ModelOptions model; ///< its name may be a folder with weights
  std::string weights;
  int threads = 0;
  double timeout = 300;
  ChosenDevice device;
  bool quiet = false, json = false;
  std::vector<std::string> checkpoints; ///< the newest ones in the folders that were named

  /// What is used: the model, its plan and its weights.
  void addModelTo(CLI::App &app);
  /// How it runs: reports, devices, processes.
  void addRunTo(CLI::App &app);
};

} // namespace npar::driver
