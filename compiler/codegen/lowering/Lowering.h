// How prims write their meaning: loops named by axes around a scalar body, with indices in global coordinates.
#pragma once

#include "compiler/codegen/lowering/Scalar.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/rank/Rank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace npar::codegen {

/// What a body may ask for besides its operands.
class Body {
public:
  Body(mlir::ImplicitLocOpBuilder &b, llvm::ArrayRef<mlir::StringAttr> loops, dist::MeshAttr mesh, mlir::Operation *scope)
      : b(b), loops(loops), mesh(mesh), scope(scope) {}
  Scalar constant(double value, mlir::Type type);
  Scalar integer(int64_t value);
  /// Local index along a loop, i64.
  Scalar index(mlir::StringAttr axis);
  /// Offset of this rank's shard of an axis of a tensor, i64.
  Scalar shardOffset(mlir::Type type, mlir::StringAttr axis);
  /// Index in the logical tensor, also where its axis lies in zigzag order.
  Scalar globalIndex(mlir::Type type, mlir::StringAttr axis);
  /// The same of a piece, of known number and size, of an axis that has `global` elements; `loop` walks the piece.
  Scalar indexInPiece(mlir::StringAttr loop, Scalar piece, int64_t size, mlir::StringAttr axis, int64_t global);
  /// This rank's number among those that differ in the mesh axes, major to minor.
  Scalar member(llvm::ArrayRef<mlir::StringAttr> meshAxes);
  /// Whether this rank's shards of an axis may hold padding.
  bool isPadded(mlir::Type type, mlir::StringAttr axis);
  /// i1: the current index along an axis is not padding. Only for padded axes.
  Scalar isLogical(mlir::Type type, mlir::StringAttr axis);
  /// Words of the context, i64.
  Scalar step() { return word(0); }
  Scalar micro() { return word(1); }
  Scalar seed() { return word(2); }
  Scalar coordinate(mlir::StringAttr meshAxis) { return word(3 + mesh.indexOf(meshAxis)); }
  /// tensor[indices], indices i64 and in range (only the last may run over its dimension's end along the loops: then 0).
  Scalar extract(mlir::Value tensor, llvm::ArrayRef<Scalar> indices);
  mlir::ImplicitLocOpBuilder &builder() { return b; }

private:
  Scalar word(int64_t index);
  mlir::ImplicitLocOpBuilder &b;
  llvm::ArrayRef<mlir::StringAttr> loops;
  dist::MeshAttr mesh;
  mlir::Operation *scope;
};

/// The type that a body computes in: f32 for tensors of bf16 and f16, which are converted as they are loaded and yielded, so that each op
/// rounds once.
mlir::Type computeType(mlir::Type elementOrTensor);

/// Lowers the ops of one kernel. Lowered tensors are plain: axis names move to the loops.
class Lowering {
public:
  /// `scope` is in the module whose orders of axes hold.
  Lowering(mlir::OpBuilder &b, dist::MeshAttr mesh, mlir::Operation *scope) : b(b), mesh(mesh), scope(scope) {}
  using Scalars = llvm::ArrayRef<Scalar>;
  using Function = llvm::function_ref<llvm::SmallVector<Scalar>(Body &, Scalars)>;

  mlir::Value get(mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, mlir::Value lowered) { values.map(value, lowered); }
  /// An operand of the kernel as one dimension, in row-major order: the same memory, by an unrealized_conversion_cast.
  mlir::Value flattened(mlir::Value operand);

  /// results[i...] = body(operands[i...]) over the axes of the op's first result; operands broadcast by name. An operand's axis that the
  /// result lacks has the index that `fixed` gives.
  llvm::LogicalResult map(mlir::Operation *op, mlir::ValueRange operands, Function body,
                          llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> fixed = {});
  /// result = combination over the loops that the result lacks of body(operands, accumulator); starts from `neutral`. The accumulator is
  /// f32 where the result is of 16 bits.
  llvm::LogicalResult reduce(nn::KernelOpInterface op, mlir::ValueRange operands, double neutral, Function body);

private:
  mlir::ValueRange generic(mlir::Operation *op, mlir::ValueRange operands, llvm::ArrayRef<mlir::StringAttr> loops, mlir::ValueRange inits,
                           Function body, llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> fixed = {});
  mlir::OpBuilder &b;
  dist::MeshAttr mesh;
  mlir::Operation *scope;
  mlir::IRMapping values;
};

/// A kernel's body as a function of linalg.generics (named loops, attribute `axes`) on plain tensors, in a module of its own.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> lowerToLinalg(rank::KernelOp kernel, dist::MeshAttr mesh);

/// Attaches the lowerings of all prims.
void registerLowerings(mlir::DialectRegistry &registry);

// Each is in a file of its own in this folder.
void attachElementwise(mlir::MLIRContext *context);
void attachReductions(mlir::MLIRContext *context);
void attachShape(mlir::MLIRContext *context);
void attachDropout(mlir::MLIRContext *context);
void attachUpdate(mlir::MLIRContext *context);

} // namespace npar::codegen

#include "compiler/codegen/lowering/LowerableOpInterface.h.inc"

namespace npar::codegen {

/// Makes a function the lowering of an op.
template <typename Op, llvm::LogicalResult (*function)(Op, Lowering &)>
struct LoweredBy : LowerableOpInterface::ExternalModel<LoweredBy<Op, function>, Op> {
  llvm::LogicalResult lower(mlir::Operation *op, Lowering &lowering) const { return function(llvm::cast<Op>(op), lowering); }
};

} // namespace npar::codegen
