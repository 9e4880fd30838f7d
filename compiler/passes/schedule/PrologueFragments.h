// Outlines @count and @start into the fragments of the prologue.
#pragma once

#include "compiler/passes/schedule/Fragments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar {

/// `phase` is C for @count, P for @start. Nothing is sent: fails with an error at an op whose operand belongs elsewhere, or that is on a
/// stage without a count.
mlir::LogicalResult outlinePrologue(mlir::func::FuncOp function, pipe::Phase phase, Fragments &fragments);

} // namespace npar
