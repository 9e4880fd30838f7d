// The experts that a model sends rows to, as expert parallelism divides them.
#pragma once

#include "dsl/Program.h"

#include <cstdint>
#include <string>

namespace npar::planner {

struct RoutedExperts {
  std::string axis;      ///< empty: the model sends no rows to experts
  int64_t count = 1;     ///< experts of a layer
  int64_t choices = 1;   ///< experts of a position
  int64_t layers = 0;    ///< layers with experts
  double parameters = 0; ///< elements of the experts' matrices
};

/// The experts of the first layer that has some; layers whose experts have another axis are left out.
RoutedExperts routedExpertsOf(const dsl::Program &program);

} // namespace npar::planner
