// The geometry of collectives that cut or join pieces of tensors.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "engine/program/Program_generated.h"

namespace npar::compiler {

/// Describes a gathered or scattered dimension as [outer, split, inner] of the smaller piece. Flat pieces, and dimensions whose last shards
/// hold padding, are described as shares of a row.
void cut(program::CollectiveT &entry, mlir::RankedTensorType smaller, mlir::RankedTensorType larger, llvm::StringRef dim, int64_t ranks);

/// [outer, split, middle, concat, inner] of a block, which has the smaller size of both dimensions.
void cutTwice(program::CollectiveT &entry, dist::AllToAllOp op);
/// Fills in the pieces of routed rows, and the part of them that exists at a balanced load.
void cutPieces(program::CollectiveT &entry, dist::AllToAllOp op, int64_t ranks);

} // namespace npar::compiler
