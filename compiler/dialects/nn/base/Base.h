// The basis of all nn ops: attributes, interfaces and traits of the dialect, tensors with named axes, and an op's place in the model.
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
/// Verifies that the op states how the parts of a result are combined over each loop that the result lacks.
mlir::LogicalResult verifyReduction(mlir::Operation *op);

template <typename Op> struct AxesAgree : mlir::OpTrait::TraitBase<Op, AxesAgree> {
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyAxesAgree(op); }
  /// Runs after the op's own verifier, so that its errors come first.
  static mlir::LogicalResult verifyRegionTrait(mlir::Operation *op) { return verifyReduction(op); }
};

/// Marks an op whose axes of equal names must be split equally, although their sizes may differ.
template <typename Op> struct SplitsAgree : mlir::OpTrait::TraitBase<Op, SplitsAgree> {};

/// Marks an op that placing expands into local ones, or leaves with `blockedAttribute`.
template <typename Op> struct Composite : mlir::OpTrait::TraitBase<Op, Composite> {};

/// The op's `at` attribute; null when it has none.
AtAttr getAt(mlir::Operation *op);
void setAt(mlir::Operation *op, AtAttr at);
void setAt(mlir::Operation *op, Phase phase, llvm::StringRef path, int64_t block);

/// Returns whether the value is the operand's own data under another name or in more bits; then keeping the operand suffices.
bool isOperandItself(mlir::Operation *op);
/// Returns whether the value depends on no data: indices, constants, and cheap ops on such values. Placing computes it at each use.
bool isFree(mlir::Operation *op);
/// Returns whether the value is read where it is used: a parameter or data, possibly renamed or widened. Other values computed from it are
/// kept as usual.
bool isFetched(mlir::Operation *op);

/// Attribute of an op that is the gradient of an op of another kind, whose name it holds; plans refer to that kind.
constexpr llvm::StringLiteral gradientOfAttribute = "gradient_of";

/// Attribute of a composite op that placing leaves as it is: one step of the engine computes it.
constexpr llvm::StringLiteral blockedAttribute = "blocked";
/// Returns whether placing expands the op into local ones; none remains afterwards.
bool isExpanded(mlir::Operation *op);

/// Attribute of an op of @update that computes with whole values on every rank, however states are split.
constexpr llvm::StringLiteral ofWholeAttribute = "of_whole";

/// Attribute of an op of a recomputed segment and of its copy in the backward, until the schedule is made: their common number.
constexpr llvm::StringLiteral recomputeAttribute = "recompute";

} // namespace npar::nn
