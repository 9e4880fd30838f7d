// Long sums of kernels that have few rows: all threads of a block make one together.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace npar::codegen {

/// On a loop over vectors of terms that may be added in any order, because the sums are exact: teams share out its iterations.
constexpr llvm::StringLiteral anyOrderAttr = "npar.any_order";

/// The threads of a block, which have a row of the kernel at a time.
struct BlockThreads {
  int64_t count, team;      ///< all of them, those of a team
  mlir::Value worker, lane; ///< i64: this thread's team in the block, and its number in the team
};

/// A sum that a block makes for each row of a kernel, where one team would wait for memory most of the time: the only loop in the rows'
/// loop, with everything that is stored behind it.
class BlockSums {
public:
  /// Of a function whose vectors do not lie on threads yet.
  static BlockSums find(mlir::func::FuncOp function, int64_t extent);
  explicit operator bool() const { return loop != nullptr; }
  /// Threads of the block that suits it.
  int64_t blockThreads() const;

  /// Rewrites the loop, as one thread runs it by now, and lets the first team alone store results. Of a sum in the written order all teams
  /// compute terms, a row each, and leave them in shared memory, from where one team adds them up in that order while all compute the next:
  /// ```
  /// terms of chunk 0 -> shared memory; barrier
  /// for each chunk: t = terms of the next one; team 0: s = s + its terms, one after the other; barrier; t -> shared memory; barrier
  /// ```
  /// Terms behind the last row are -0, which changes no sum. Of a sum in any order each team has every so-manieth iteration.
  void rewrite(mlir::func::FuncOp function, const BlockThreads &block);

private:
  mlir::scf::ForOp loop;
};

} // namespace npar::codegen
