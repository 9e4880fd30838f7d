// From vectors of lanes to threads: the loops of a kernel as each of the threads that share a row runs them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace npar::codegen {

/// How a kernel is launched: threads of a block, and the rows that it has at a time.
struct DeviceThreads {
  int64_t block, rows;
};

/// Rewrites the function of a module of loops (loops/Emit.h) in place, to be run by any number of blocks.
///
/// A vector of n lanes lies on a team of n neighbouring threads of a warp, a lane each, so that a contiguous access is one of the team. The
/// tree over a vector's halves becomes exchanges between threads in the same order (RULES.md#N6), after which all of them have the result.
/// Scalars are computed by all and stored by the first. Teams take the rows from 0 to `extent` in turn.
/// ```mlir
/// %x = llvm.load %p : vector<16xf32>               %x = llvm.load %p[%lane] : vector<1xf32>
/// %a = llvm.shufflevector %x, %x [0, 1, ... 7]  ->  %b = "llvm.nvvm.shfl.sync.bfly"(%team, %x, 8)
/// %b = llvm.shufflevector %x, %x [8, 9, ... 15]     %s = arith.addf %x, %b : vector<1xf32>
/// %s = arith.addf %a, %b : vector<8xf32>
/// ```
/// Where rows are few and sums long, a block has one row (BlockSums.h).
mlir::FailureOr<DeviceThreads> distributeLanes(mlir::ModuleOp module, int64_t extent);

/// Whether the loops call functions of the C library, which a GPU does not have.
bool callsLibrary(mlir::ModuleOp module);

} // namespace npar::codegen
