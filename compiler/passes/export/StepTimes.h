// Describes steps in the terms of the cost model.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/memory/Allocate.h"

namespace npar::compiler {

/// The work of a kernel, from the ops in its body. From an operand that is only indexed, such as a table of embeddings, the kernel reads at
/// most as many bytes as its largest result has.
cost::Operation operationOf(rank::KernelOp kernel);

/// A step that writes `bytes` bytes and computes nothing.
cost::Operation movedBytes(uint64_t bytes);

/// Sets the step's planned time: that of the slowest machine among those that its ranks run on.
void setDuration(memory::Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation);

} // namespace npar::compiler
