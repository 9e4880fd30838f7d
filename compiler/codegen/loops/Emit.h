// Generates a kernel's loops: linalg.generics with scalar bodies in, one function over pointers with explicit vectors out.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace npar::codegen {

/// Scratch rows of a kernel live on the stack within this many bytes.
inline constexpr int64_t stackBytes = 64 * 1024;

/// From a function of linalg.generics over tensors, a module with `void name(buffers, context, begin, end)` (ABI of Codegen.h) in
/// func, scf, cf, arith, math and LLVM ops. Also reports the extent of the outer loop.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitLoops(mlir::func::FuncOp generics, llvm::StringRef name);

/// The number of independent rows of a kernel.
mlir::FailureOr<int64_t> kernelExtent(mlir::func::FuncOp generics);

} // namespace npar::codegen
