// `npar verify --all`: a matrix of plans, each equal to one rank or refused with a reason.
#pragma once

#include "tools/npar/trials/PlanCheck.h"

namespace npar::driver {

struct MatrixFlags {
  std::vector<ModelOptions> models;
  std::vector<std::string> combine; ///< `dp,zb_v`: these combinations instead of the matrix
  std::string printPlan;            ///< name of a plan to print instead
  uint64_t seed = 1;
  int64_t plans = 120;
  bool json = false;
  PlanCheckOptions check;
};

/// Good, CheckFailed when a plan was neither equal nor refused, or the code of what kept the plans from being made.
ExitCode verifyAll(MatrixFlags flags);

} // namespace npar::driver
