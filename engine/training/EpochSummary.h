// The figures of a run's epochs: what the training steps of each came to, and its evaluation.
#pragma once

#include "engine/logging/LogFormat.h"
#include "engine/training/RunClock.h"
#include "engine/training/RunEvaluations.h"
#include "engine/training/Trainer.h"

#include <optional>
#include <vector>

namespace npar::training {

/// Watches the steps of a run that lasts for a number of epochs; any other run has no summaries.
class EpochSummary {
public:
  EpochSummary(const RunClock &clock, const RunEvaluations &evaluations) : clock(clock), evaluations(evaluations) {}

  /// True if the run has summaries.
  bool wanted() const { return clock.epochs().has_value(); }
  /// Takes a finished step.
  void add(const StepReport &report);
  /// The summary that ends after `done` steps, once its evaluation is done: at the end of each epoch and of the run.
  std::optional<engine::EpochRecord> take(int64_t done);
  /// All summaries so far.
  const std::vector<engine::EpochRecord> &all() const { return records; }

private:
  const RunClock &clock;
  const RunEvaluations &evaluations;
  std::vector<engine::EpochRecord> records;
  int64_t steps = 0, amount = 0;
  double losses = 0, seconds = 0;
};

} // namespace npar::training
