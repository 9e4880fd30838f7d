// What steps cost, in the cost model's terms.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/rank/Rank.h"
#include "compiler/memory/Allocate.h"

namespace npar::memory {

/// What a kernel does, by the ops in its body. Of an operand that is looked into, a table of embeddings say, as much is read as is made of
/// it.
cost::Operation operationOf(rank::KernelOp kernel);

/// A step that writes so many bytes and computes nothing.
cost::Operation movedBytes(uint64_t bytes);

/// The step's planned time: on the slowest of the machines that its ranks stand on.
void setDuration(Action &action, const std::vector<cost::Machine> &machines, const cost::Operation &operation);

} // namespace npar::memory
