// What becomes of a predicted step in a long run: slow ranks and links, jitter, failures, and what a number of tokens takes.
#pragma once

#include "tools/npar/simulate/Failures.h"
#include "tools/npar/simulate/Jitter.h"
#include "tools/npar/simulate/Prediction.h"
#include "tools/npar/terminal/CliApp.h"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace npar::driver {

struct OutlookFlags {
  SlowFlags slow;
  double jitter = 0; ///< a share; 0: none
  std::optional<uint64_t> seed;
  std::optional<int64_t> samples;
  double deviceHours = 0, hostHours = 0; ///< from a device's or host's failure to its next; 0: it has none
  double checkpoint = 0, restart = 0;    ///< seconds; 0: not given
  double tokens = 0;                     ///< 0: not asked for
};

void addOutlookTo(CLI::App &app, OutlookFlags &flags);
/// Flags that need others which are not there; the message is printed.
ExitCode checkOutlook(const OutlookFlags &flags);

struct Outlook {
  OutlookFlags flags;
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

/// `deviations`: of every step, slowed or not. Errors are printed.
Outcome<Outlook> outlookOf(const OutlookFlags &flags, const program::Program &program, const cost::Machine &machine,
                           const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations);

/// Adds `disturbed, jitter, failures, tokens` where the flags ask for them; tools/README.md has the keys.
void addOutlook(nlohmann::ordered_json &json, const Outlook &outlook);
/// Nothing where no flag asks.
std::string outlookText(const Outlook &outlook);

} // namespace npar::driver
