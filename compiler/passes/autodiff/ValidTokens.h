// The mean over the tokens that count: where the targets may be ignored, dividing is left to who reads the sum of the losses (RULES.md#N3).
#pragma once

#include "compiler/dialects/nn/Nn.h"

namespace npar::nn {

/// `value` / max(1, valid tokens of the global batch) where the module's prologue counts them, an f64 scalar; else `value` itself, which
/// importing has divided. With no valid token at all, loss and gradients are so 0. `builder` must place what it inserts.
mlir::Value perValidToken(mlir::OpBuilder &builder, mlir::Location location, mlir::ModuleOp module, mlir::Value value);

} // namespace npar::nn
