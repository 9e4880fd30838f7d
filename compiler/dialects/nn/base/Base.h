// What all ops of the nn dialect stand on: its attributes, interfaces and traits, tensors with named axes, and an op's place in the model.
#pragma once

#include "compiler/dialects/Words.h"
#include "compiler/dialects/nn/base/Axes.h"
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

namespace npar::nn {
using program::InitKind;
using program::Phase;
using program::VariableKind;
} // namespace npar::nn

#include "compiler/dialects/nn/base/NnAttrInterfaces.h.inc"
#include "compiler/dialects/nn/base/NnDialect.h.inc"
#include "compiler/dialects/nn/base/NnOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialects/nn/base/NnAttrs.h.inc"

namespace npar::nn {

/// The one resource that reads and writes of variables touch.
struct VariableResource : mlir::SideEffects::Resource::Base<VariableResource> {
  llvm::StringRef getName() final { return "nn.variables"; }
};

/// Verifies that every loop has one size over all operands and results.
mlir::LogicalResult verifyAxesAgree(mlir::Operation *op);
/// Verifies that the op says what joins the parts of a result over a loop that the result lacks.
mlir::LogicalResult verifyReduction(mlir::Operation *op);

template <typename Op> struct AxesAgree : mlir::OpTrait::TraitBase<Op, AxesAgree> {
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyAxesAgree(op); }
  /// After the op's own verifier: what that finds is told first.
  static mlir::LogicalResult verifyRegionTrait(mlir::Operation *op) { return verifyReduction(op); }
};

/// Marks an op whose axes are split alike where they have one name, although their sizes may differ.
template <typename Op> struct SplitsAgree : mlir::OpTrait::TraitBase<Op, SplitsAgree> {};

/// Marks an op that placing expands into local ones, or leaves with `blockedAttribute`.
template <typename Op> struct Composite : mlir::OpTrait::TraitBase<Op, Composite> {};

/// The op's `at` attribute; null when it has none.
AtAttr getAt(mlir::Operation *op);
void setAt(mlir::Operation *op, AtAttr at);
void setAt(mlir::Operation *op, Phase phase, llvm::StringRef path, int64_t block);

/// Whether the value is the operand's own data under another name, or in more bits: of it nothing is kept but the operand.
bool isOperandItself(mlir::Operation *op);
/// Made of nothing: indices, constants and what is made again of them. Placing makes it at each use.
bool isFree(mlir::Operation *op);
/// Read where it is used: parameters and data, renamed or widened or not. What else is made of them is kept like any value.
bool isFetched(mlir::Operation *op);

/// Attribute of an op that is built as the gradient of another kind of op, which it names: plans speak of that kind.
constexpr llvm::StringLiteral gradientOfAttribute = "gradient_of";

/// Attribute of a composite op that placing leaves as it is: one step of the engine computes it.
constexpr llvm::StringLiteral blockedAttribute = "blocked";
/// Whether placing expands the op into local ones; none is left after it.
bool isExpanded(mlir::Operation *op);

/// Attribute of an op of a recomputed segment and of its copy in the backward, until the schedule is made: their common number.
constexpr llvm::StringLiteral recomputeAttribute = "recompute";

} // namespace npar::nn
