// Finds for the ops on routed rows which tensor tells where the existing rows end.
#pragma once

#include "compiler/codegen/outline/Outline.h"

#include "llvm/ADT/DenseSet.h"

namespace npar::codegen {

/// Knows which ops read all places of routed rows (nn::isOfSpreadRows).
class ReadersOfRows {
public:
  /// `module`: with all views, which give rows other names.
  explicit ReadersOfRows(mlir::ModuleOp module);
  /// The op skips rows that do not exist.
  void skips(mlir::Operation *op) { skipping.insert(op); }
  /// Axes whose rows something in the module adds up, or finds by numbers, without asking which exist: there the others must be zeros.
  llvm::DenseSet<mlir::StringAttr> axesThatNeedZeros(mlir::ModuleOp module) const;

private:
  bool readsExistingRows(mlir::OpOperand &use, mlir::StringAttr row) const;

  llvm::SmallVector<std::pair<mlir::StringAttr, mlir::StringAttr>> renamed;
  llvm::DenseSet<mlir::Operation *> skipping;
};

/// The ends of the rows of a block, whose grouped products are rank.matmul already.
class RowEnds {
public:
  /// Moves ops on rows behind the op that makes their ends, if their users allow it.
  explicit RowEnds(mlir::Block &block);
  /// The ends of the rows that an op computes; null if they are unknown, or not yet known where the op is.
  mlir::Value of(mlir::Operation *op) const;
  /// Tells which rows of a kernel of these ops exist if each of its results has such rows, all with the same ends. Else null.
  rank::ExistingAttr ofKernel(llvm::ArrayRef<mlir::Operation *> group, mlir::ValueRange results,
                              const llvm::DenseSet<mlir::StringAttr> &needZeros) const;
  /// Gives rows that do not exist the number -1 in a sum of rows into a table, so that it skips them. Returns whether it does; their ends
  /// may be unknown.
  bool skipOthers(nn::ScatterAddOp op) const;

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
