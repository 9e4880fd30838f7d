// From vectors of lanes to threads: the loops of a kernel as each of the threads that share a row runs them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace npar::codegen {

/// Rewrites the function of a module of loops (loops/Emit.h) in place, to be run by blocks of `blockThreads` threads in any number.
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
/// Returns the threads of a team.
mlir::FailureOr<int64_t> distributeLanes(mlir::ModuleOp module, int64_t extent, int64_t blockThreads);

/// Whether the loops call functions of the C library, which a GPU does not have.
bool callsLibrary(mlir::ModuleOp module);

} // namespace npar::codegen
