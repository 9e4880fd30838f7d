// Elementary functions in generated code: f32 by polynomials on whole vectors, f64 by libm lane by lane.
#pragma once

#include "mlir/IR/Builders.h"

namespace npar::codegen {

/// The value of a math op (`math.exp` and so on) on operands that are scalars or vectors; null when the op needs no expansion.
/// Errors in f32: exp 1 ulp with gradual underflow to 0, log 1 ulp, tanh 2 ulp, erf 2e-7. f64: libm's.
mlir::Value expandMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace npar::codegen
