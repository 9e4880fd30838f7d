// The nn dialect (what is computed): attributes, interfaces and ops over tensors with named axes.
#pragma once

#include "compiler/dialects/nn/Axes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialects/nn/NnEnums.h.inc"

#include "compiler/dialects/nn/NnAttrInterfaces.h.inc"
#include "compiler/dialects/nn/NnDialect.h.inc"
#include "compiler/dialects/nn/NnOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/nn/NnAttrs.h.inc"

namespace npar::nn {

/// The one resource that reads and writes of variables touch.
struct VariableResource : mlir::SideEffects::Resource::Base<VariableResource> {
  llvm::StringRef getName() final { return "nn.variables"; }
};

/// Verifies that every loop has one size over all operands and results.
mlir::LogicalResult verifyAxesAgree(mlir::Operation *op);

template <typename Op> struct AxesAgree : mlir::OpTrait::TraitBase<Op, AxesAgree> {
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyAxesAgree(op); }
};

/// The op's `at` attribute; null when it has none.
AtAttr getAt(mlir::Operation *op);
void setAt(mlir::Operation *op, AtAttr at);
void setAt(mlir::Operation *op, Phase phase, llvm::StringRef path, int64_t block);

/// Scale, shift, broadcast, convert, rename, sinusoid: made again at each use where the first operand is free.
bool isCheap(mlir::Operation *op);
/// A conversion from 16 bits to more: of its result nothing is kept but the operand.
bool isWidening(mlir::Operation *op);
/// Made of nothing: indices, constants and what cheap ops make of them. Placing makes it again at each use.
bool isFree(mlir::Operation *op);
/// Read where it is used: parameters and data, renamed or widened or not. What else is made of them is kept like any value.
bool isFetched(mlir::Operation *op);

/// Attribute of an op that is built as the gradient of another kind of op, which it names: plans speak of that kind.
constexpr llvm::StringLiteral gradientOfAttribute = "gradient_of";

/// Attribute of an op of a recomputed segment and of its copy in the backward, until the schedule is made: their common number.
constexpr llvm::StringLiteral recomputeAttribute = "recompute";

} // namespace npar::nn

#define GET_OP_CLASSES
#include "compiler/dialects/nn/NnOps.h.inc"
