// Several op families share these small builders of gradients, checks of verifiers and an order of loops.
#pragma once

#include "compiler/dialects/nn/ops/Ops.h"

namespace npar::nn {

/// Sums or permutes `value` to exactly the axes of `type` (a subset of its own); itself when the types are equal.
mlir::Value reduceTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);
/// Repeats or permutes `value` to exactly the axes of `type` (a superset of its own); itself when the types are equal.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);
/// Joins `parts` along an axis: the gradient of the selects that made these parts.
mlir::Value joinParts(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, mlir::ValueRange parts, mlir::StringAttr axis);
/// value * factor.
mlir::Value scaled(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, double factor);

/// Returns whether every axis of `part` is an axis of `whole`.
bool axesWithin(mlir::Type part, mlir::Type whole);
/// Refuses, unless the axes of `part` (called `what`) are all axes of `whole` (called `where`).
mlir::LogicalResult requireWithin(mlir::Operation *op, mlir::Type part, llvm::StringRef what, mlir::Type whole, llvm::StringRef where);
/// Refuses, unless both have the same axes in any order.
mlir::LogicalResult requireSameAxes(mlir::Operation *op, mlir::Type a, llvm::StringRef what, mlir::Type b, llvm::StringRef where);
/// Refuses, unless both have the same axes in the same order.
mlir::LogicalResult requireSameOrder(mlir::Operation *op, mlir::Type a, llvm::StringRef what, mlir::Type b, llvm::StringRef where);
/// Refuses, unless `b` (called `where`) has the axes of `a` (called `what`) with `to` in the place of `from`, in any order.
mlir::LogicalResult requireExchange(mlir::Operation *op, mlir::Type a, llvm::StringRef what, mlir::StringAttr from, mlir::Type b,
                                    llvm::StringRef where, mlir::StringAttr to);
/// Refuses, unless `type` (called `what`) has, or lacks, an axis.
mlir::LogicalResult requireAxis(mlir::Operation *op, mlir::Type type, llvm::StringRef what, mlir::StringAttr axis);
mlir::LogicalResult requireNoAxis(mlir::Operation *op, mlir::Type type, llvm::StringRef what, mlir::StringAttr axis);
/// Refuses, unless the axes of `type` are those of `whole` without the listed ones, in any order.
mlir::LogicalResult requireWithout(mlir::Operation *op, mlir::Type type, llvm::StringRef what, mlir::Type whole, llvm::StringRef where,
                                   llvm::ArrayRef<mlir::StringAttr> axes);
/// The result's axes, with the reduced axes right after the axis that they are compared with, so that the axes further in stay contiguous.
llvm::SmallVector<mlir::StringAttr> reducedBehind(mlir::Operation *op, mlir::StringAttr compared);
/// Refuses different element types.
mlir::LogicalResult requireSameElement(mlir::Operation *op, mlir::TypeRange types);

} // namespace npar::nn
