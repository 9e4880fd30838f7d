// Counted and located choices (nn.queue, nn.count_below, nn.locate) have nests of their own: each group of choices is walked once or twice,
// with a counter for each entry. Results are those of the ops' formulas, which compare all pairs; GPUs compute these.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// Returns whether a kernel counts or locates choices in a form that these loops support.
bool isCounts(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitCounts(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t countsExtent(rank::KernelOp kernel);

} // namespace npar::codegen
