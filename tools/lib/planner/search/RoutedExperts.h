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

  /// The most rows that a rank can have over those of a balanced load, if `ep` ranks with other samples share the experts.
  double worstLoad(int64_t ep) const;
  /// The rounds in which rows come with `experts buffer`; 1 where `buffer` is 0.
  int64_t rounds(int64_t ep, double buffer) const;
};

/// The experts of the first layer that has some; layers whose experts have another axis are left out.
RoutedExperts routedExpertsOf(const dsl::Program &program);

/// Tells whether an operation counts the positions of sequences, which ranks then keep in their order: zigzag order is refused.
bool countsPositions(const dsl::Program &program);

} // namespace npar::planner
