// 16-bit floats in generated code: i16 in memory and in registers, f32 in arithmetic, converted with the same bits on every processor.
#pragma once

#include "mlir/IR/Builders.h"

namespace npar::codegen {

/// i16 for bf16 and f16, every other type itself.
mlir::Type storageType(mlir::Type element);
/// A scalar or vector of i16 that holds values of `narrow`, as f32.
mlir::Value widen(mlir::OpBuilder &b, mlir::Location loc, mlir::Value bits, mlir::Type narrow);
/// f32 rounded to nearest, ties to even, as i16. NaNs become quiet and keep their upper bits; f16 has gradual underflow and infinity beyond
/// its range.
mlir::Value narrow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type narrow);
/// `arith.extf` from and `arith.truncf` to a 16-bit type on operands in storage; null for any other op.
mlir::Value expandConversion(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace npar::codegen
