// Looks from a predicted step to a long run: slow ranks and links, jitter, failures, and the cost of a number of tokens.
//
//   J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (9), 1974
//   J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer Systems 22, 2006
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/status/Observer.h"
#include "tools/lib/planner/simulate/Jitter.h"
#include "tools/lib/planner/simulate/Prediction.h"

#include <cstdint>
#include <optional>
#include <string>

namespace npar::planner {

/// Failures come by chance, independent of each other, and stop the whole job, which continues from its last checkpoint.
struct Failures {
  double between = 0;    ///< seconds from one failure anywhere in the job to the next, the mean
  double checkpoint = 0; ///< seconds for which training stops to write a checkpoint
  double restart = 0;    ///< seconds from a failure until training continues
};

/// Seconds of computing between two checkpoints that lose least: Young's sqrt(2 checkpoint between), and Daly's
/// perturbation series, which holds where checkpoints take long too.
double youngInterval(const Failures &failures);
double dalyInterval(const Failures &failures);

/// The factor by which training takes longer with a checkpoint after every `interval` seconds of computing, by Daly's complete cost
/// function. Infinite if the job practically never gets from one checkpoint to the next.
double slowdown(const Failures &failures, double interval);

/// The steps between two checkpoints, at least 1, as near to Daly's interval as whole steps allow.
int64_t stepsBetween(const Failures &failures, double secondsPerStep);

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
  std::optional<cost::Simulation> undisturbed; ///< the step without slow ranks and links, if there are any
  double undisturbedSeconds = 0;               ///< of that step in a run
  std::optional<JitterResult> jitter;
  std::optional<Failures> failures;
  double tokensPerStep = 0; ///< 0: the model reads none
  Prediction prediction;    ///< with slow ranks and links

  /// Seconds of a step; with jitter, their mean.
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
void addOutlook(OrderedJson &json, const Outlook &outlook);
/// Empty if the request asks for nothing.
std::string outlookText(const Outlook &outlook);

} // namespace npar::planner
