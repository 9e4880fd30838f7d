// Checks plans one by one, each in a process of its own, so that a crash or a hang of one is a finding and not the end.
#pragma once

#include "tools/npar/trials/PlanDraft.h"

#include <functional>
#include <optional>

namespace npar::driver {

/// A plan is equal to one rank (Ok), or Refused: at a line of the plan, or because the model does not work on one rank either, whose text
/// does not take the sizes or whose numbers leave the range of the plan's type. Everything else has Failed.
enum class Verdict { Ok, Refused, Failed };

const char *nameOf(Verdict verdict);

struct PlanResult {
  Verdict verdict = Verdict::Failed;
  std::optional<double> error; ///< the largest relative one of all tensors
  std::string reason;          ///< of a refusal or failure: one line
  std::string at;              ///< of a refusal: the plan's line that is blamed; empty where the model is
  std::string output;          ///< of a failure: all that the driver printed
};

struct PlanCheckOptions {
  int jobs = 1;
  double seconds = 300;  ///< the longest that a plan may take
  std::string modelText; ///< without plan
  /// Verifies one plan, prints what `npar verify --json` prints and returns its exit code. Called in a process of its own.
  std::function<ExitCode(const ModelOptions &)> verify;
};

/// Checks all; calls `done` for each, in order, as soon as it and all before it are checked. Otherwise what kept it from that was said: the
/// machine refused files or processes, or a signal stopped it. Takes over the signals that stop a process.
ExitCode checkPlans(const SmallModel &model, const std::vector<PlanDraft> &drafts, const PlanCheckOptions &options,
                    const std::function<void(size_t, const PlanResult &)> &done);

/// How `npar verify` checks one plan; `threads` and `jobs` of 0 are the usual number.
PlanCheckOptions planChecks(uint64_t seed, int threads, int jobs);

/// A reason without its numbers and names of tensors, so that equal ones count together.
std::string reasonKind(const std::string &reason);

/// A word as a shell takes it.
std::string shellQuoted(const std::string &word);

/// The flags that chose train block, configuration and settings, as a shell takes them, each after a space.
std::string modelFlags(const ModelOptions &options);

/// The command that shows the same again, run in the folder of the model's text where that imports its neighbours.
std::string reproduction(const SmallModel &model, const PlanDraft &draft, const std::string &drawing, uint64_t seed);

} // namespace npar::driver
