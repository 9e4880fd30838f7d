// Checks plans one by one, each in a process of its own, so that a crash or a hang of one is a result and does not end the others.
#pragma once

#include "tools/lib/verify/PlanResult.h"

#include <functional>
#include <optional>

namespace npar::driver {

struct PlanCheckOptions {
  int jobs = 1;         ///< plans checked at the same time
  double seconds = 300; ///< the longest time for a plan
  /// Verifies one plan. Called in a process of its own, whose standard error is kept. Must not throw.
  std::function<engine::Result<verify::VerifyReport>(const models::ModelOptions &)> verify;
  /// Asked again and again while plans are checked, with the number of results so far and of all plans. A status, also a good one, stops
  /// all processes, and checkPlans returns it.
  std::function<std::optional<engine::Status>(size_t checked, size_t all)> stop;
};

/// See verify::CheckPlans.
engine::Status checkPlans(const verify::ModelOutline &model, const std::string &modelText, const std::vector<verify::PlanDraft> &drafts,
                          const PlanCheckOptions &options, const std::function<void(size_t, const verify::PlanResult &)> &done);

} // namespace npar::driver
