// What becomes of a predicted step in a long run: slow ranks and links, jitter, failures, and what a number of tokens takes.
#pragma once

#include "engine/status/Observer.h"
#include "tools/lib/planner/simulate/Failures.h"
#include "tools/lib/planner/simulate/Jitter.h"
#include "tools/lib/planner/simulate/Prediction.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace npar::planner {

struct OutlookRequest {
  SlowParts slow;
  double jitter = 0; ///< a share; 0: none
  std::optional<uint64_t> seed;
  std::optional<int64_t> samples;
  double deviceHours = 0, hostHours = 0; ///< from a device's or host's failure to its next; 0: it has none
  double checkpoint = 0, restart = 0;    ///< seconds; 0: not given
  double tokens = 0;                     ///< 0: not asked for
};

struct Outlook {
  OutlookRequest request;
  Disturbance disturbance;
  std::optional<cost::Simulation> undisturbed; ///< without slow ranks and links, where there are some
  double undisturbedSeconds = 0;               ///< of that step in a run
  std::optional<JitterResult> jitter;
  std::optional<Failures> failures;
  double tokensPerStep = 0; ///< 0: the model reads none
  Prediction prediction;    ///< with slow ranks and links

  /// Of a step: the mean with jitter, where there is some.
  double secondsPerStep() const { return jitter ? jitter->mean : prediction.seconds; }
  int64_t interval() const { return stepsBetween(*failures, secondsPerStep()); } ///< steps between two checkpoints
  /// Time with checkpoints and failures over time without.
  double factor() const { return failures ? slowdown(*failures, static_cast<double>(interval()) * secondsPerStep()) : 1; }
};

/// `deviations`: of every step, slowed or not.
engine::Result<Outlook> outlookOf(const OutlookRequest &request, const program::Program &program, const cost::Machine &machine,
                                  const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations,
                                  engine::Observer &observer);

/// Adds `disturbed, jitter, failures, tokens` if the request asks for them; tools/README.md has the keys.
void addOutlook(nlohmann::ordered_json &json, const Outlook &outlook);
/// Empty if the request asks for nothing.
std::string outlookText(const Outlook &outlook);

} // namespace npar::planner
