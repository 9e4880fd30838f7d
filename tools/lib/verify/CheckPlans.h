// Checks plans one by one, each in a process of its own, so that a crash or a hang of one is a result and does not end the others.
#pragma once

#include "tools/lib/verify/PlanDraft.h"
#include "tools/lib/verify/VerifyReport.h"

#include <functional>
#include <optional>

namespace npar::verify {

/// Ok: the plan is equal to one rank. Refused: at a line of the plan, or because the model does not work on one rank either: its text does
/// not accept the sizes, or its numbers leave the range of the plan's type. Failed: everything else.
enum class Verdict { Ok, Refused, Failed };

const char *nameOf(Verdict verdict);

struct PlanResult {
  Verdict verdict = Verdict::Failed;
  std::optional<double> error; ///< the largest relative one of all tensors
  std::string reason;          ///< of a refusal or failure: one line
  std::string at;              ///< of a refusal: the plan's line that is refused; empty if the model is
  std::string output;          ///< of a failure: standard error of its process
};

struct PlanCheckOptions {
  int jobs = 1;         ///< plans checked at the same time
  double seconds = 300; ///< the longest time for a plan
  /// Verifies one plan. Called in a process of its own, whose standard error is kept. Must not throw.
  std::function<engine::Result<VerifyReport>(const models::ModelOptions &)> verify;
  /// Asked again and again while plans are checked, with the number of results so far and of all plans. A status, also a good one, stops
  /// all processes, and checkPlans returns it.
  std::function<std::optional<engine::Status>(size_t checked, size_t all)> stop;
};

/// Checks all plans of the model in `modelText`, which has no plan of its own. Calls `done` for each plan in order, as soon as this plan
/// and all before it are checked. An error: the machine refused files or processes.
engine::Status checkPlans(const ModelOutline &model, const std::string &modelText, const std::vector<PlanDraft> &drafts,
                          const PlanCheckOptions &options, const std::function<void(size_t, const PlanResult &)> &done);

/// A reason without its numbers, so that refusals for one reason count together.
std::string reasonKind(const std::string &reason);

} // namespace npar::verify
