// Elementary functions of f32 and f64, written as arithmetic that gives the same bits on processors and GPUs.
#pragma once

#include "compiler/codegen/loops/Calculator.h"

namespace npar::codegen {

namespace f32 {
mlir::Value exp(Calculator c, mlir::Value x);
mlir::Value log(Calculator c, mlir::Value x);
mlir::Value tanh(Calculator c, mlir::Value x);
mlir::Value erf(Calculator c, mlir::Value x);
} // namespace f32

namespace f64 {
mlir::Value exp(Calculator c, mlir::Value x);
mlir::Value log(Calculator c, mlir::Value x);
mlir::Value tanh(Calculator c, mlir::Value x);
mlir::Value erf(Calculator c, mlir::Value x);
/// Valid for |x| < 2^31; the result for infinities is unspecified.
mlir::Value sin(Calculator c, mlir::Value x);
mlir::Value cos(Calculator c, mlir::Value x);
/// Takes finite x >= 0 and y >= 0. The result is rounded to nearest, except that in 1 of 300 cases it is the neighbouring number.
mlir::Value pow(Calculator c, mlir::Value x, mlir::Value y);
} // namespace f64

} // namespace npar::codegen
