// What a kernel is, as text: its ops without places and locations. Equal texts mean equal code.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// The kernel's body, types and mesh, with `name` as its symbol and without `filled`.
std::string kernelText(rank::KernelOp kernel, dist::MeshAttr mesh, llvm::StringRef name);

/// The loops of a kernel, as a module of func, scf, arith, math and LLVM ops.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> kernelLoops(rank::KernelOp kernel, dist::MeshAttr mesh);

/// Independent rows of a kernel: its `extent`.
mlir::FailureOr<int64_t> extentOf(rank::KernelOp kernel, dist::MeshAttr mesh);

} // namespace npar::codegen
