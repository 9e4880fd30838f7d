// Finds for the ops on routed rows which tensor tells where the existing rows end.
#pragma once

#include "compiler/codegen/outline/Outline.h"

#include "llvm/ADT/DenseSet.h"

namespace npar::codegen {

/// Axes of routed rows (nn::isOfSpreadRows) whose rows something in the module adds up, or finds by numbers, without asking which exist:
/// there the others must be zeros.
llvm::DenseSet<mlir::StringAttr> axesThatNeedZeros(mlir::ModuleOp module);

/// The ends of the rows of a block, whose grouped products are rank.matmul already.
class RowEnds {
public:
  explicit RowEnds(mlir::Block &block);
  /// The ends of the rows that an op computes; null if they are unknown, or not yet known where the op is.
  mlir::Value of(mlir::Operation *op) const;
  /// Tells which rows of a kernel of these ops exist if each of its results has such rows, all with the same ends. Else null.
  rank::ExistingAttr ofKernel(llvm::ArrayRef<mlir::Operation *> group, mlir::ValueRange results,
                              const llvm::DenseSet<mlir::StringAttr> &needZeros) const;

private:
  /// An operand with ends, and the number of rows in a piece. Ends are asked of the user, because kernels replace their makers.
  struct Source {
    mlir::Operation *user;
    unsigned operand;
    int64_t places;
  };
  void start(mlir::Value rows, const Source &source);

  std::vector<Source> sources;
  llvm::DenseMap<mlir::Operation *, unsigned> found; ///< to places in `sources`
};

} // namespace npar::codegen
