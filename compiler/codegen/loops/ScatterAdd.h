// nn.scatter_add has a nest of its own: rows of a table, in chunks of columns, tokens in ascending order. A following nn.add of an
// operand (a gradient accumulator) touches only the rows that tokens name, where it works in place.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

bool isScatterAdd(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitScatterAdd(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t scatterAddExtent(rank::KernelOp kernel);

} // namespace npar::codegen
