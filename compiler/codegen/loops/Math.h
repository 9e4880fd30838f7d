// Elementary functions in generated code: arithmetic on whole vectors, nothing of the C library's.
#pragma once

#include "mlir/IR/Builders.h"

namespace npar::codegen {

/// The value of a math op (`math.exp` and so on) on operands that are scalars or vectors; null when the op needs no expansion.
/// Errors in f32: exp 1 ulp with gradual underflow to 0, log 1 ulp, tanh 2 ulp, erf 2e-7. In f64: exp and log 1 ulp, tanh and erf 1.3, sin
/// and cos 1.5 (Elementary.h says of which operands), pow 0.8.
mlir::Value expandMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace npar::codegen
