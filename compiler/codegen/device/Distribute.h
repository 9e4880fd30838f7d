// Distributes vectors of lanes over threads: turns the loops of a kernel into those of each thread that shares a row.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace npar::codegen {

/// Launch parameters of a kernel: threads per block, and rows that a block computes at a time.
struct DeviceThreads {
  int64_t block, rows;
};

/// Rewrites the function of a module of loops (loops/Emit.h) in place, so that any number of blocks can run it.
///
/// A vector of n lanes is distributed over a team of n neighbouring threads of a warp, one lane each, so that the team makes one contiguous
/// access. The tree over a vector's halves becomes exchanges between threads in the same order (RULES.md#N6), after which every thread has
/// the result. All threads compute scalars; the first thread stores them. Teams take the rows from 0 to `extent` in turn.
/// ```mlir
/// %x = llvm.load %p : vector<16xf32>               %x = llvm.load %p[%lane] : vector<1xf32>
/// %a = llvm.shufflevector %x, %x [0, 1, ... 7]  ->  %b = "llvm.nvvm.shfl.sync.bfly"(%team, %x, 8)
/// %b = llvm.shufflevector %x, %x [8, 9, ... 15]     %s = arith.addf %x, %b : vector<1xf32>
/// %s = arith.addf %a, %b : vector<8xf32>
/// ```
/// If there are few rows with long sums, a block computes one row at a time (BlockSums.h).
mlir::FailureOr<DeviceThreads> distributeLanes(mlir::ModuleOp module, int64_t extent);

/// Returns whether the loops call functions of the C library, which a GPU does not have.
bool callsLibrary(mlir::ModuleOp module);

} // namespace npar::codegen
