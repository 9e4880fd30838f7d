// Free functions on types with named axes, and the loop axes of ops: what every pass over nn ops shares.
#pragma once

#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/base/Properties.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace npar::nn {

/// Returns whether the type is a ranked tensor of static shape whose encoding names its dimensions.
bool isNamedTensor(mlir::Type type);
/// The axis names of a tensor with named axes, major to minor; empty for every other type.
llvm::ArrayRef<mlir::StringAttr> axesOf(mlir::Type type);
/// The place of an axis among the dimensions, -1 when absent.
int64_t dimOf(mlir::Type type, mlir::StringAttr axis);
/// The size of an axis (as the shape says: local after placing), -1 when absent.
int64_t sizeOf(mlir::Type type, mlir::StringAttr axis);
bool hasAxis(mlir::Type type, mlir::StringAttr axis);
/// Bytes of the elements of a tensor.
int64_t bytesOf(mlir::Type tensor);

/// The axis of rows with a piece for each rank that shares the entries of `entries`: goes by the rules of that axis.
mlir::StringAttr spreadRows(mlir::StringAttr rows, mlir::StringAttr entries);
/// The axis of entries by whose rules an axis of spread rows goes; null for every other axis.
mlir::StringAttr entriesOfRows(mlir::StringAttr axis);

/// A tensor with encoding `#nn.axes<names...>`.
mlir::RankedTensorType withAxes(mlir::Type element, llvm::ArrayRef<mlir::StringAttr> names, llvm::ArrayRef<int64_t> sizes);
/// The same shape and encoding with another element type.
mlir::RankedTensorType withElement(mlir::Type type, mlir::Type element);
/// The tensor without some of its axes.
mlir::RankedTensorType withoutAxes(mlir::RankedTensorType type, llvm::ArrayRef<mlir::StringAttr> axes);
/// `tensor<ELEMENT, #nn.axes<>>`.
mlir::RankedTensorType scalarOf(mlir::Type element);

/// Axes of the results (parallel), then those only of operands (reduce), each in order of appearance.
llvm::SmallVector<LoopAxis> defaultLoopAxes(mlir::Operation *op);
/// `axes` with the kind of one axis replaced (added at the end when absent).
llvm::SmallVector<LoopAxis> withKind(llvm::SmallVector<LoopAxis> axes, mlir::StringAttr axis, LoopKind kind);
/// The axes of the first result.
llvm::SmallVector<mlir::StringAttr> defaultLoopOrder(mlir::Operation *op);
/// Returns whether a floating-point operand has an axis that the first result lacks.
bool isContracted(mlir::Operation *op, unsigned operand, mlir::StringAttr axis);
/// Elements of the largest operand or result.
double defaultFlops(mlir::Operation *op);
/// Number of elements for which the op needs many instructions, as for an exponential or a look-up; 0 for ops that need one or two.
double functionsOf(mlir::Operation *op);
/// The product of the sizes of all axes that occur in operands and results: the iterations of the op's loop nest.
double loopVolume(mlir::Operation *op);

} // namespace npar::nn
