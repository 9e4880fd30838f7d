// The work of a model's repeated blocks, counted from its graph: weights of experts see fewer positions than those of dense blocks.
#pragma once

#include "dsl/Program.h"

namespace npar::planner {

/// Multiply-adds per sequence of the products of activations with weights in the repeated blocks, forward and backward. A trained matrix
/// over all positions has three for each of its elements and positions. The backward product of a frozen weight, or of an input of the
/// model, is not counted, nor are products of two activations, such as attention or the dispatch to experts.
double multiplyAddsOfBlocks(const dsl::Program &program);

} // namespace npar::planner
