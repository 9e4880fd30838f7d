// Generates a kernel's loops: linalg.generics with scalar bodies in, one function over pointers with explicit vectors out.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar::codegen {

/// Parameters for a target; they never change a bit of a result.
struct LoopOptions {
  int64_t scratchBytes = 64 * 1024; ///< stack memory for rows that are kept; other rows are recomputed when needed again
  int64_t columnParts = 4;          ///< vectors in a row of columns that are reduced
};

/// Lowers a function of linalg.generics over tensors to a module with `void name(buffers, context, begin, end)` (ABI of Codegen.h) in func,
/// scf, cf, arith, math and LLVM ops. Also reports the extent of the outer loop.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitLoops(mlir::func::FuncOp generics, llvm::StringRef name,
                                                             const LoopOptions &options = {});

/// The number of independent rows of a kernel.
mlir::FailureOr<int64_t> kernelExtent(mlir::func::FuncOp generics, const LoopOptions &options = {});

} // namespace npar::codegen
