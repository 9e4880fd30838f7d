// What a kernel is, as text: its ops without places and locations. Equal texts mean equal code.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// The kernel's body, types and mesh, with `name` as its symbol.
std::string kernelText(rank::KernelOp kernel, dist::MeshAttr mesh, llvm::StringRef name);

/// The loops of a kernel, as a module of func, scf, arith, math and LLVM ops.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> kernelLoops(rank::KernelOp kernel, dist::MeshAttr mesh);

/// nn.scatter_add has a nest of its own: rows of a table, in chunks of columns, tokens in ascending order. A following nn.add of an
/// operand (a gradient accumulator) touches only the rows that tokens name, where it works in place.
bool isScatterAdd(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitScatterAdd(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t scatterAddExtent(rank::KernelOp kernel);

/// rank.square_sum and rank.bin_sums have nests of their own too: they add in a written order.
bool isSquareSum(rank::KernelOp kernel);
mlir::OwningOpRef<mlir::ModuleOp> emitSquareSum(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t squareSumExtent(rank::KernelOp kernel);

/// Independent rows of a kernel: its `extent`.
mlir::FailureOr<int64_t> extentOf(rank::KernelOp kernel, dist::MeshAttr mesh);

} // namespace npar::codegen
