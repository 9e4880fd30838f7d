// What `npar train --tune` tries, and how the choice is reported.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/training/Tuning.h"
#include "tools/lib/models/BucketPrograms.h"

#include <string>
#include <vector>

namespace npar::driver {

struct RunTuning {
  std::vector<models::BucketProgram> sizes; ///< the plan's own first; empty: nothing is tuned
  training::Tuning steps;

  /// Fills in `steps` from `sizes`.
  void prepare();
  /// After the end: the setting that gives the kept size.
  std::string setting() const;
  /// After the end: a table with a row for each size, and the line to write in plan `plan`.
  std::string text(const std::string &plan) const;
  OrderedJson json() const;
};

} // namespace npar::driver
