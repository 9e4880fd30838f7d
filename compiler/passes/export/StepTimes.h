// Describes steps in the terms of the cost model.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/memory/Allocate.h"

namespace npar::compiler {

/// The work of a kernel, from the ops in its body. From an operand that is only indexed, such as a table of embeddings, the kernel reads at
/// most as many bytes as its largest result has; as many for each choice if it adds up the rows of a position's choices.
/// Routed rows that do not exist if the load is balanced take no time.
cost::Operation operationOf(rank::KernelOp kernel);

/// The work of a matrix product of this type. A grouped product is one product for each range of rows; they are equally long.
cost::Operation operationOf(rank::MatmulOp matmul, program::ElementType type);

/// A step that writes `bytes` bytes and computes nothing.
cost::Operation movedBytes(uint64_t bytes);

/// Sets the step's planned time: that of the slowest machine among those that its ranks run on.
void setDuration(memory::Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation);

} // namespace npar::compiler
