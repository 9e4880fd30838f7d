// `npar verify --pairs`: every pair of features of the plan language on one model.
#pragma once

#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/verify/CheckPlans.h"

namespace npar::driver {

struct PairFlags {
  models::ModelOptions model;
  std::string features; ///< `dp,tp,zero3`; empty: all that apply to the model
  bool json = false;
  PlanCheckOptions check;
};

/// Prints a table of the pairs. Good, CheckFailed if a plan was neither equal to one rank nor refused, or the code of the error that kept
/// the plans from being made.
ExitCode verifyPairs(const PairFlags &flags);

} // namespace npar::driver
