// Measures the machine at hand: training steps of small models, fitted.
#pragma once

#include "dsl/machine/Machine.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::planner {

struct MeasureOptions {
  bool quick = false; ///< the smallest models alone: whether it works; its figures mean little
};

/// The difference between fitted and measured times of a kind of steps.
struct Residual {
  std::string kind;
  size_t steps = 0;    ///< observed, of different sizes
  double seconds = 0;  ///< measured, all of them together
  double relative = 0; ///< of the sum of their times: sum |fitted - measured| / sum measured
};

struct Measured {
  dsl::Machine machine;
  std::string remark; ///< when and how, in one line
  std::vector<Residual> residuals;
};

engine::Result<Measured> measureMachine(const MeasureOptions &options, engine::Observer &observer);

} // namespace npar::planner
