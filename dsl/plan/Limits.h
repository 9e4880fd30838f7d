// The limits that a plan sets itself: `require memory <= 24 GiB, bubble <= 20 %`.
#pragma once

#include "dsl/plan/PlanText.h"

#include <optional>

namespace npar::dsl {

struct Limits {
  std::optional<int64_t> memory; ///< bytes per rank
  std::optional<double> bubble;  ///< share of a step, 0 to 1
  Location memoryAt, bubbleAt;
};

Limits readLimits(const ast::Plan &plan, PlanText &text);

} // namespace npar::dsl
