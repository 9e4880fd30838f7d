// Describes steps in the terms of the cost model.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/memory/Allocate.h"

namespace npar::compiler {

/// The work of a kernel, from the ops in its body. From an operand that is only indexed, such as a table of embeddings, the kernel reads at
/// most as many bytes as its largest result has; as many for each choice if it adds up the rows of a position's choices.
///
/// `filled`, here and below: the part of routed rows that exist. Rows that do not exist take no time.
cost::Operation operationOf(rank::KernelOp kernel, double filled);

/// The work of a matrix product. A grouped product is one product for each range of rows, which are equally long.
cost::Operation operationOf(rank::MatmulOp matmul, program::ElementType type, double filled);

/// A step that writes `bytes` bytes and computes nothing.
cost::Operation movedBytes(uint64_t bytes);

/// Sets the step's planned time: that of the slowest machine among those that its ranks run on. `worst`: the work if a rank gets all rows
/// that it has room for.
void setDuration(memory::Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation,
                 const cost::Operation &worst);
void setDuration(memory::Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation);

} // namespace npar::compiler
