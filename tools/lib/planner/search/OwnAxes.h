// The axes of a model's own that tensor parallelism may split before the axes that it knows by name, such as the experts of a routed model.
#pragma once

#include "dsl/Program.h"

#include <string>
#include <vector>

namespace npar::planner {

/// An axis of weights, apart from those that tensor parallelism splits by their names.
struct OwnAxis {
  std::string name;
  int64_t size = 0;
  std::vector<std::string> others; ///< of head, hidden and vocab those that operations without this axis have: split there
};

constexpr size_t mostOwnAxes = 3;

/// The own axes of the weights in the repeated blocks, or of all weights in a model without blocks. The axes with the most parameters come
/// first; there are at most `mostOwnAxes`. Left out are axes of size 1, head, hidden, vocab and embed, the axes of what blocks hand to each
/// other, features that attention contracts, and axes that a single index is selected from or that tensors are stacked along: each rank
/// would need all of those. Sums of axes are left out where head, hidden or vocab splits the weight.
std::vector<OwnAxis> ownAxesOf(const dsl::Program &program);

} // namespace npar::planner
