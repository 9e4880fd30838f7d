// Builds the function of a kernel whose ops have a nest of their own.
#pragma once

#include "compiler/codegen/loops/Vector.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace npar::codegen {

/// The one op of a kind in a kernel, or null.
template <typename Op> Op onlyOp(rank::KernelOp kernel) {
  auto ops = kernel.getBody().getOps<Op>();
  return ops.empty() ? Op() : *ops.begin();
}

/// The place among the buffers of a kernel's operand that is an argument.
inline unsigned numberOf(mlir::Value operand) { return mlir::cast<mlir::BlockArgument>(operand).getArgNumber(); }

/// A kernel's function, open at its end.
struct KernelFunction {
  explicit KernelFunction(rank::KernelOp kernel)
      : loc(kernel.getLoc()), module(mlir::ModuleOp::create(loc)), b(mlir::OpBuilder::atBlockEnd(module->getBody())) {
    pointer = mlir::LLVM::LLVMPointerType::get(b.getContext());
    mlir::Type i64 = b.getI64Type();
    auto target = mlir::func::FuncOp::create(b, loc, kernel.getSymName(), b.getFunctionType({pointer, pointer, i64, i64}, {}));
    entry = target.addEntryBlock();
    b.setInsertionPointToStart(entry);
  }
  /// The rows to compute.
  mlir::Value begin() { return entry->getArgument(2); }
  mlir::Value end() { return entry->getArgument(3); }
  mlir::Value constant(int64_t value) { return constantI64(b, loc, value); }
  mlir::Value zero() { return mlir::arith::ConstantOp::create(b, loc, b.getF64FloatAttr(0.0)); }
  mlir::Value buffer(mlir::Value index) {
    return mlir::LLVM::LoadOp::create(b, loc, pointer, address(b, loc, entry->getArgument(0), pointer, index));
  }
  mlir::Value buffer(unsigned index) { return buffer(constant(index)); }
  mlir::Value word(int64_t index) {
    return mlir::LLVM::LoadOp::create(b, loc, b.getI64Type(), address(b, loc, entry->getArgument(1), b.getI64Type(), constant(index)));
  }
  /// This rank's number among those that differ in the mesh axes, major to minor.
  mlir::Value member(dist::MeshAttr mesh, llvm::ArrayRef<mlir::StringAttr> meshAxes) {
    mlir::Value number = constant(0);
    for (mlir::StringAttr axis : meshAxes) {
      number = mlir::arith::MulIOp::create(b, loc, number, constant(mesh.sizeOf(axis)));
      number = mlir::arith::AddIOp::create(b, loc, number, word(3 + mesh.indexOf(axis)));
    }
    return number;
  }
  /// The address of a table of constants in the kernel's object file.
  mlir::Value table(llvm::ArrayRef<int64_t> values) {
    mlir::OpBuilder top = mlir::OpBuilder::atBlockBegin(module->getBody());
    auto type = mlir::LLVM::LLVMArrayType::get(b.getI64Type(), values.size());
    auto global = mlir::LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, mlir::LLVM::Linkage::Private, "table",
                                               b.getI64TensorAttr(values));
    return mlir::LLVM::AddressOfOp::create(b, loc, global);
  }
  /// Carries `start` through the iterations; null when nothing is carried.
  mlir::Value loop(mlir::Value begin, mlir::Value end, int64_t step, mlir::Value start,
                   llvm::function_ref<mlir::Value(mlir::Value index, mlir::Value carried)> body) {
    auto op = mlir::scf::ForOp::create(b, loc, begin, end, constant(step), start ? mlir::ValueRange(start) : mlir::ValueRange());
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    mlir::Value next = body(op.getInductionVar(), start ? op.getRegionIterArg(0) : mlir::Value());
    if (start)
      mlir::scf::YieldOp::create(b, loc, next);
    return start ? op.getResult(0) : mlir::Value();
  }

  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder b;
  mlir::Type pointer;
  mlir::Block *entry = nullptr;
};

} // namespace npar::codegen
