// The split of a backward: what other parts of the model wait for, and the gradients of the parameters (Qi et al. 2023, "Zero Bubble
// Pipeline Parallelism", section 2: B and W).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

/// Repeated in every fragment that uses it: costs nothing, or less than keeping or moving the value.
bool isRepeated(mlir::Operation *op);

/// Marks the backward ops of @micro that nothing before them in the chain waits for with `pipe.weight`. An op is not marked when a value
/// that it makes is used, directly or through other ops, by another block (the one before its own); so between the blocks of a part
/// gradients stay in B, on the first part too. Rounds of rows of experts stay in B as a whole: W would keep the rows of all of them.
void markWeightOps(mlir::func::FuncOp micro);

} // namespace npar::compiler
