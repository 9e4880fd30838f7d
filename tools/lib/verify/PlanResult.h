// The result of a plan's check, judged from what the check left: a report, an error, or how its process ended.
#pragma once

#include "tools/lib/verify/PlanDraft.h"
#include "tools/lib/verify/VerifyReport.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

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

/// What the check of a plan left. It may run in a process of its own, so all of it is text.
struct PlanOutcome {
  std::string left;       ///< the text of `leftBy`; empty for none
  std::string ended;      ///< how the check ended, in words: the reason if nothing is left
  std::string output;     ///< standard error of its process
  std::string folder;     ///< of the plan's file; removed from messages, because its name means nothing to a reader
  uint32_t firstLine = 0; ///< of the plan in its file
};

/// The report as JSON, or the error in its place. `model`: the model with this plan.
std::string leftBy(const engine::Result<VerifyReport> &report, const models::ModelOptions &model);

PlanResult judge(const PlanOutcome &outcome, const PlanDraft &draft);

/// Checks all plans of the model in `modelText`, which has no plan of its own. Calls `done` for each plan in order, as soon as this plan
/// and all before it are checked. An error: the machine refused files or processes.
using CheckPlans =
    std::function<engine::Status(const ModelOutline &model, const std::string &modelText, const std::vector<PlanDraft> &drafts,
                                 const std::function<void(size_t, const PlanResult &)> &done)>;

/// A reason without its numbers, so that refusals for one reason count together.
std::string reasonKind(const std::string &reason);

} // namespace npar::verify
