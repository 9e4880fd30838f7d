// The sizes that `npar train --tune` tries, and the report of its choice.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/training/Tuning.h"
#include "tools/lib/models/BucketPrograms.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct RunTuning {
  std::vector<models::BucketProgram> sizes; ///< the plan's own first; empty: nothing is tuned
  std::vector<double> planned; ///< seconds of a step of each on the machine, for a backend that computes nothing; empty: they are measured
  training::Tuning steps;

  /// Simulates a step of each on the machine. BadInput if it lacks links for that many ranks.
  engine::Status simulate(const std::optional<std::string> &machine);
  /// Fills in `steps` from `sizes`.
  void prepare();
  /// The duration of the step that has just run in `measured` seconds.
  double seconds(double measured) const { return planned.empty() ? measured : planned[steps.turnOf()]; }
  /// After the end: the setting that gives the kept size.
  std::string setting() const;
  /// After the end: a table with a row for each size, and the line to write in plan `plan`.
  std::string text(const std::string &plan) const;
  OrderedJson json() const;
};

} // namespace npar::driver
