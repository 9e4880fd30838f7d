// Builds nn operations on rank-local tensors for the expansions: result layouts follow from the operands', split reductions are completed.
#pragma once

#include "compiler/dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"

namespace npar::place {

/// Inserts before an operation, with its location and place in the model.
class LocalBuilder {
public:
  explicit LocalBuilder(mlir::Operation *op);

  using Attributes = llvm::ArrayRef<std::pair<llvm::StringRef, mlir::Attribute>>;

  /// Any nn operation (mnemonic without `nn.`) of one result.
  mlir::Value build(llvm::StringRef name, mlir::Type result, mlir::ValueRange operands, Attributes attributes = {});
  /// Elementwise; operands broadcast by name to the union of their axes, in the order of the larger operand, or to `result`.
  mlir::Value unary(llvm::StringRef name, mlir::Value x) { return build(name, x.getType(), x); }
  mlir::Value binary(llvm::StringRef name, mlir::Value a, mlir::Value b, mlir::Type result = {});
  mlir::Value scale(mlir::Value x, double factor, mlir::Type result = {});
  mlir::Value shift(mlir::Value x, double value);
  /// Reduces one axis; where it is split, over its mesh axes too.
  mlir::Value sum(mlir::Value x, mlir::StringAttr axis, mlir::Type result = {}) { return reduce<nn::SumOp>(x, axis, {x}, {}, result); }
  mlir::Value max(mlir::Value x, mlir::StringAttr axis) { return reduce<nn::MaxOp>(x, axis, {x}); }
  mlir::Value pick(mlir::Value x, mlir::Value index, mlir::StringAttr axis) {
    return reduce<nn::PickOp>(x, axis, {x, index}, {{"axis", axis}});
  }
  /// mean = sum / global size.
  mlir::Value mean(mlir::Value x, mlir::StringAttr axis, mlir::Type result = {});
  /// Splits of the result's axes are those of the operands; contracted axes are not split.
  mlir::Value einsum(mlir::Value a, mlir::Value b, llvm::ArrayRef<mlir::StringAttr> axes, mlir::Type element = {});
  /// Converts to another element type; returns the value itself if it already has that type.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  mlir::Value rename(mlir::Value x, mlir::StringAttr from, mlir::StringAttr to);
  /// The type with another name for an axis.
  mlir::Type renamed(mlir::Type type, mlir::StringAttr from, mlir::StringAttr to);
  /// Zeroes the padding of an axis if its shards have any.
  mlir::Value maskPadding(mlir::Value x, mlir::StringAttr axis);

  mlir::OpBuilder builder;

private:
  template <typename Op>
  mlir::Value reduce(mlir::Value x, mlir::StringAttr axis, mlir::ValueRange operands, Attributes attributes = {}, mlir::Type result = {}) {
    return reduce(Op::getOperationName().split('.').second, *Op::getReduction(), x, axis, operands, attributes, result);
  }
  mlir::Value reduce(llvm::StringRef name, program::ReduceOp reduction, mlir::Value x, mlir::StringAttr axis, mlir::ValueRange operands,
                     Attributes attributes, mlir::Type result);
  mlir::Type typeOf(mlir::Value like, llvm::ArrayRef<mlir::Value> sources, llvm::ArrayRef<mlir::StringAttr> axes);

  mlir::Operation *op;
  dist::MeshAttr mesh;
};

} // namespace npar::place
