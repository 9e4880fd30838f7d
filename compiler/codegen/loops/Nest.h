// The loop nest of a kernel: which axes are independent rows, which are walked inside a row, and which one is vectorised.
#pragma once

#include "compiler/codegen/loops/Emit.h"
#include "compiler/dialects/rank/Rank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace npar::codegen {

/// One axis of the iteration space, or several that are contiguous everywhere and walked as one.
struct Loop {
  llvm::SmallVector<mlir::StringAttr, 2> axes;
  int64_t size = 1;
  bool reduced = false;
};

/// Two forms. Row form: rows are the kept axes, the vectorised loop is the last one inside a row (softmax, layer norm, bias + gelu).
/// Column form: the vectorised loop is among the rows, a row being one chunk of it; reduced loops are inside (bias gradients, flat
/// elementwise kernels, which have none).
struct Nest {
  llvm::SmallVector<Loop> loops;
  llvm::SmallVector<int> rows, inner; ///< loops by place in `loops`, outermost first
  int vectorLoop = -1;                ///< -1: all values are scalars
  bool vectorInRows = false;          ///< column form
  int64_t lanes = 16, parts = 1;      ///< vectors of `lanes`, `parts` of them at a time
  int64_t extent = 1;
  rank::ExistingAttr existing; ///< null: all rows are computed

  int64_t width() const { return lanes * parts; }
  /// The loop that walks an axis; -1 for axes of size 1.
  int loopOf(mlir::StringAttr axis) const;
  /// Element strides per loop of a contiguous tensor whose dimensions are the given axes.
  llvm::SmallVector<int64_t> strides(mlir::RankedTensorType type, llvm::ArrayRef<mlir::StringAttr> axes) const;
};

/// Loop names of a generic.
llvm::SmallVector<mlir::StringAttr> loopAxes(mlir::linalg::GenericOp op);
/// Loop names of an operand's dimensions (its indexing map must be a projected permutation); null where the index is a constant.
llvm::SmallVector<mlir::StringAttr> operandAxes(mlir::linalg::GenericOp op, unsigned operand);
/// Elements before the first one that an operand's constant indices leave.
int64_t operandOffset(mlir::linalg::GenericOp op, unsigned operand);
llvm::SmallVector<mlir::StringAttr> resultAxes(mlir::linalg::GenericOp op, unsigned result);

/// Plans the nest of a function of generics. Fails with an error at the function when its ops do not fit one nest.
mlir::FailureOr<Nest> planNest(mlir::func::FuncOp function, const LoopOptions &options);

} // namespace npar::codegen
