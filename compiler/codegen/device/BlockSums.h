// Long sums of kernels that have few rows: all threads of a block make one together.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace npar::codegen {

/// The threads of a block, which computes one row of the kernel at a time.
struct BlockThreads {
  int64_t count, team;      ///< all of them, those of a team
  mlir::Value worker, lane; ///< i64: this thread's team in the block, and its number in the team
};

/// A sum that a whole block computes for each row of a kernel, because a single team would mostly wait for memory. It is the only loop
/// inside the loop over rows, and all stores of the row follow it.
class BlockSums {
public:
  /// Looks for such a sum in a function whose vectors are not yet distributed over threads.
  static BlockSums find(mlir::func::FuncOp function, int64_t extent);
  explicit operator bool() const { return loop != nullptr; }
  /// The number of threads per block that fits the sum.
  int64_t blockThreads() const;

  /// Rewrites the loop, which already is in the form that one thread runs, and leaves storing results to the first team. If the order of
  /// the sum is fixed, all teams compute terms, one row each, and write them to shared memory; one team adds them in that order while all
  /// compute the next chunk:
  /// ```
  /// terms of chunk 0 -> shared memory; barrier
  /// for each chunk: t = terms of the next one; team 0: s = s + its terms, one after the other; barrier; t -> shared memory; barrier
  /// ```
  /// Terms after the last row are -0, which changes no sum. If the order is free, the teams take the iterations in turn.
  void rewrite(mlir::func::FuncOp function, const BlockThreads &block);

private:
  mlir::scf::ForOp loop;
};

} // namespace npar::codegen
