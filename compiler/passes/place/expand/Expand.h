// Attaches expansions to the composite ops that they replace.
#pragma once

#include "compiler/dialects/nn/Nn.h"

#include "compiler/passes/place/expand/ExpandableOpInterface.h.inc"

namespace npar::place {

/// Makes a function the expansion of an op.
template <typename Op, void (*function)(Op)> struct ExpandedBy : ExpandableOpInterface::ExternalModel<ExpandedBy<Op, function>, Op> {
  void expand(mlir::Operation *op) const { function(llvm::cast<Op>(op)); }
};

/// Attaches the expansions of all composite ops.
void registerExpansions(mlir::DialectRegistry &registry);

// Each family is a file of this folder.
void attachAttention(mlir::MLIRContext *context);
void attachCrossEntropy(mlir::MLIRContext *context);
void attachLayerNorm(mlir::MLIRContext *context);
void attachRmsNorm(mlir::MLIRContext *context);

/// The expansions of attention that goes round a ring.
void expandRing(nn::AttentionOp op);
void expandRing(nn::AttentionGradOp op);

} // namespace npar::place
