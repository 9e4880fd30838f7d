// rank.square_sum and rank.bin_sums have nests of their own: they add in a written order.
#pragma once

#include "compiler/codegen/loops/KernelFunction.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

bool isSquareSum(rank::KernelOp kernel);
mlir::OwningOpRef<mlir::ModuleOp> emitSquareSum(rank::KernelOp kernel, dist::MeshAttr mesh);
/// The number of block sums in each of the kernel's operands.
llvm::SmallVector<int64_t> blocksByBuffer(rank::KernelOp kernel, rank::BinSumsOp op);
/// Cuts a block sum, or a vector of them, into chunks: `sum` = chunk 0 + chunk 1 + ..., each a multiple of the unit of its `bin` that is
/// less than 2^24 units, from the highest bin down.
void cutIntoBins(KernelFunction &k, mlir::Value sum, llvm::function_ref<void(mlir::Value bin, mlir::Value chunk)> visit);

int64_t squareSumExtent(rank::KernelOp kernel);

} // namespace npar::codegen
