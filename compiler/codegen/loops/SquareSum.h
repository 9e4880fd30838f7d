// rank.square_sum and rank.bin_sums have nests of their own: they add in a written order.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

bool isSquareSum(rank::KernelOp kernel);
mlir::OwningOpRef<mlir::ModuleOp> emitSquareSum(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t squareSumExtent(rank::KernelOp kernel);

} // namespace npar::codegen
