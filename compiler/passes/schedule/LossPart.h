// The part of @micro that `central` (DataParallel) runs on the first rank for all ranks: the losses and their gradients.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseSet.h"

namespace npar::compiler {

/// Forward: the ops between the last use of a parameter and the sums of the losses. Backward: the gradients of these ops, except those of
/// parameters. An op whose values depend on the rank's coordinate along `axis`, such as dropout, ends the part. Ops that are repeated where
/// they are used (`isRepeated`) belong to no part.
class LossPart {
public:
  LossPart(mlir::func::FuncOp micro, mlir::StringAttr axis);
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool isEmpty() const { return ops.empty(); }

private:
  llvm::DenseSet<mlir::Operation *> ops;
};

} // namespace npar::compiler
