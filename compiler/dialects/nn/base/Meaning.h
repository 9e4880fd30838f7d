// The form in which ops define what they compute: a formula over scalars for one element, in loops that are named by axes, with indices in
// global coordinates. The dialect only writes formulas; codegen/lowering implements the interface.
#pragma once

#include "compiler/dialects/nn/base/Base.h"
#include "compiler/dialects/nn/base/Scalar.h"

namespace npar::nn {

/// The context of a formula: everything it can use in addition to its operands.
class Body {
public:
  explicit Body(mlir::ImplicitLocOpBuilder &b) : b(b) {}
  virtual ~Body() = default;

  Scalar constant(double value, mlir::Type type) { return {b, mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, value))}; }
  Scalar integer(int64_t value) { return {b, mlir::arith::ConstantOp::create(b, b.getI64IntegerAttr(value))}; }
  /// Local index along a loop, i64.
  virtual Scalar index(mlir::StringAttr axis) = 0;
  /// Offset of this rank's shard of an axis of a tensor, i64.
  virtual Scalar shardOffset(mlir::Type type, mlir::StringAttr axis) = 0;
  /// Index in the logical tensor, even if its axis is in zigzag order.
  virtual Scalar globalIndex(mlir::Type type, mlir::StringAttr axis) = 0;
  /// Size of an axis of the logical tensor.
  virtual int64_t globalSize(mlir::Type type, mlir::StringAttr axis) = 0;
  /// Returns whether this rank's shards of an axis may hold padding.
  virtual bool isPadded(mlir::Type type, mlir::StringAttr axis) = 0;
  /// i1: the current index along an axis is not padding. Only for padded axes.
  virtual Scalar isLogical(mlir::Type type, mlir::StringAttr axis) = 0;
  /// Data step, number of the micro-batch, seed; i64.
  virtual Scalar step() = 0;
  virtual Scalar micro() = 0;
  virtual Scalar seed() = 0;
  /// A number that is set when a run starts, f64: engine/program/RateWords.h.
  virtual Scalar runWord(int64_t number) = 0;
  /// tensor[indices], indices i64 and in range (only the last may run over its dimension's end along the loops: then 0).
  virtual Scalar extract(mlir::Value tensor, llvm::ArrayRef<Scalar> indices) = 0;
  mlir::ImplicitLocOpBuilder &builder() { return b; }

private:
  mlir::ImplicitLocOpBuilder &b;
};

/// Takes an op's formula, of which it makes a loop nest.
class Lowering {
public:
  using Scalars = llvm::ArrayRef<Scalar>;
  using Function = llvm::function_ref<llvm::SmallVector<Scalar>(Body &, Scalars)>;

  virtual ~Lowering() = default;
  /// The lowered value of `value`, for `Body::extract`.
  virtual mlir::Value get(mlir::Value value) const = 0;
  /// An operand as a tensor with one dimension, in row-major order.
  virtual mlir::Value flattened(mlir::Value operand) = 0;
  /// results[i...] = body(operands[i...]) over the axes of the op's first result; operands broadcast by name. An operand's axis that the
  /// result lacks has the index that `fixed` gives.
  virtual llvm::LogicalResult map(mlir::Operation *op, mlir::ValueRange operands, Function body,
                                  llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> fixed = {}) = 0;
  /// result = combination over the loops that the result lacks of body(operands, accumulator); starts from `neutral`. The accumulator of a
  /// 16-bit result is f32.
  virtual llvm::LogicalResult reduce(KernelOpInterface op, mlir::ValueRange operands, double neutral, Function body) = 0;
};

/// The index nearest to `index` within [0, size), so that reading there is safe.
inline Scalar clampIndex(Scalar index, int64_t size) {
  Scalar low = index.make<mlir::arith::MaxSIOp>(index, index.like(0));
  return low.make<mlir::arith::MinSIOp>(low, low.like(double(size - 1)));
}

/// The formula of ops that only move elements.
inline Scalar same(Scalar x) { return x; }

/// The lowerings of ops that are one formula of their operands.
template <Scalar (*formula)(Scalar)> llvm::LogicalResult lowerUnary(mlir::Operation *op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> llvm::SmallVector<Scalar> { return {formula(in[0])}; });
}
template <Scalar (*formula)(Scalar, Scalar)> llvm::LogicalResult lowerBinary(mlir::Operation *op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(),
                      [](Body &, Lowering::Scalars in) -> llvm::SmallVector<Scalar> { return {formula(in[0], in[1])}; });
}

} // namespace npar::nn
