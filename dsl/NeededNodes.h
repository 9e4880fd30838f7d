// Finds the nodes that values of a model are computed from.
#pragma once

#include "dsl/Program.h"

namespace npar::dsl {

/// Tells whether a node sums over the whole batch, not over groups of samples. Its value is the sum for the whole global batch, which is
/// known after the last micro-batch.
bool isOverBatch(const Model &model, const Node &node);

/// Tells for each node of the model whether it is one of `nodes`, or one of them is computed from it where it is computed itself: not by
/// way of a sum over the whole batch. A negative number is no node.
std::vector<bool> neededFor(const Model &model, const std::vector<int> &nodes);

} // namespace npar::dsl
