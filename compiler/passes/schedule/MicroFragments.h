// Outlines @micro into the fragments of a micro-batch.
#pragma once

#include "compiler/passes/schedule/Fragments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

/// Fails with an error at an op whose value would have to flow against the pipeline.
mlir::LogicalResult outlineMicro(mlir::func::FuncOp micro, Fragments &fragments);

} // namespace npar::compiler
