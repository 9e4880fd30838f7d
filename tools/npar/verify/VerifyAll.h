// `npar verify --all`: many plans of each model, each equal to one rank or refused with a reason.
#pragma once

#include "tools/lib/verify/ModelPlans.h"
#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/verify/CheckPlans.h"

namespace npar::driver {

struct AllFlags {
  std::vector<models::ModelOptions> models;
  verify::PlanSelection selection;
  std::string printPlan; ///< name of a plan to print instead
  bool json = false;
  PlanCheckOptions check;
};

/// Prints the plans with their results as they come. Good, CheckFailed if a plan was neither equal nor refused, or the code of the error
/// that kept the plans from being made.
ExitCode verifyAll(const AllFlags &flags);

} // namespace npar::driver
