// Elementary functions of f32 and f64 as arithmetic that a processor and a GPU do alike.
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
/// Of |x| below 2^31; without meaning for infinities.
mlir::Value sin(Calculator c, mlir::Value x);
mlir::Value cos(Calculator c, mlir::Value x);
/// Of x >= 0 and y >= 0, both finite: rounded to nearest but for one case in 300, where it is the next number.
mlir::Value pow(Calculator c, mlir::Value x, mlir::Value y);
} // namespace f64

} // namespace npar::codegen
