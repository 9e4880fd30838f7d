// Makes linalg of what ops say that they compute (dialects/nn/base/Meaning.h).
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/rank/Rank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace npar::codegen {

/// The array attribute on each linalg.generic that names its loops; equal names are one loop of the kernel.
inline constexpr llvm::StringLiteral axesAttribute = "axes";

/// The rank.existing of a kernel, on its function.
inline constexpr llvm::StringLiteral existingAttribute = "existing";

/// Lowers the ops of one kernel. Lowered tensors are plain: axis names move to the loops.
class LinalgLowering final : public nn::Lowering {
public:
  /// `scope` is in the module whose orders of axes hold.
  LinalgLowering(mlir::OpBuilder &b, dist::MeshAttr mesh, mlir::Operation *scope) : b(b), mesh(mesh), scope(scope) {}

  mlir::Value get(mlir::Value value) const override { return values.lookup(value); }
  void set(mlir::Value value, mlir::Value lowered) { values.map(value, lowered); }
  /// The same memory, by an unrealized_conversion_cast.
  mlir::Value flattened(mlir::Value operand) override;
  llvm::LogicalResult map(mlir::Operation *op, mlir::ValueRange operands, Function body,
                          llvm::ArrayRef<std::pair<mlir::StringAttr, int64_t>> fixed = {}) override;
  llvm::LogicalResult reduce(nn::KernelOpInterface op, mlir::ValueRange operands, double neutral, Function body) override;

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

/// Registers what kernels are lowered to.
void registerLowerings(mlir::DialectRegistry &registry);

} // namespace npar::codegen
