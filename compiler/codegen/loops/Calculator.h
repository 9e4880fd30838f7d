// Builds elementary functions in generated code from arithmetic.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

namespace npar::codegen {

using mlir::ArrayRef, mlir::Attribute, mlir::DenseElementsAttr, mlir::Location, mlir::OpBuilder, mlir::Type, mlir::TypedAttr, mlir::Value,
    mlir::VectorType;
namespace arith = mlir::arith;
namespace math = mlir::math;

/// Builds arithmetic on values of one type, f32 or f64, scalar or vector.
struct Calculator {
  OpBuilder &b;
  Location loc;
  Type type;      // of floats
  Type bits;      // integers of the same width and shape
  Type condition; // i1 of the same shape

  Calculator(OpBuilder &b, Location loc, Type type)
      : b(b), loc(loc), type(type), bits(b.getIntegerType(mlir::getElementTypeOrSelf(type).getIntOrFloatBitWidth())),
        condition(b.getI1Type()) {
    if (auto vector = llvm::dyn_cast<VectorType>(type)) {
      bits = vector.clone(bits);
      condition = vector.clone(condition);
    }
  }
  Value constantOf(Type of, TypedAttr scalar) {
    if (auto vector = llvm::dyn_cast<VectorType>(of))
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  bool isWide() const { return mlir::getElementTypeOrSelf(type).isF64(); }
  Value real(double value) { return constantOf(type, b.getFloatAttr(mlir::getElementTypeOrSelf(type), value)); }
  Value integer(int64_t value) { return constantOf(bits, b.getIntegerAttr(mlir::getElementTypeOrSelf(bits), value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value addi(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subi(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) { return arith::CmpFOp::create(b, loc, predicate, x, y); }
  Value select(Value where, Value x, Value y) { return arith::SelectOp::create(b, loc, where, x, y); }
  /// NaN passes through.
  Value clamp(Value x, double low, double high) {
    x = select(compare(arith::CmpFPredicate::OLT, x, real(low)), real(low), x);
    return select(compare(arith::CmpFPredicate::OGT, x, real(high)), real(high), x);
  }
  Value toBits(Value x) { return arith::BitcastOp::create(b, loc, bits, x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, type, x); }
  /// c[0] x^(n-1) + ... + c[n-1] by Horner's rule.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = real(coefficients[0]);
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, real(coefficient));
    return sum;
  }
  Value power2(Value n) { // of an exponent that normal numbers have
    return fromBits(shiftLeft(addi(n, integer(isWide() ? 1023 : 127)), isWide() ? 52 : 23));
  }
  /// 2^n x in two factors, so that the result underflows gradually and overflows to infinity.
  Value scale(Value x, Value n) {
    Value half = arith::ShRSIOp::create(b, loc, n, integer(1));
    return mul(mul(x, power2(half)), power2(subi(n, half)));
  }
  /// Adding it rounds to an integer, which is in the low bits then: 1.5 * 2^23 or 1.5 * 2^52.
  Value magic() { return real(isWide() ? 6755399441055744.0 : 12582912.0); }
  Value shiftLeft(Value x, int64_t by) { return arith::ShLIOp::create(b, loc, x, integer(by)); }
  Value shiftRight(Value x, int64_t by) { return arith::ShRUIOp::create(b, loc, x, integer(by)); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, loc, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, loc, x, y); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value size, Value sign) { return math::CopySignOp::create(b, loc, size, sign); }
  Value less(Value x, Value y) { return compare(arith::CmpFPredicate::OLT, x, y); }
  /// Sets the results of a logarithm outside its regular range: infinity for infinity, -infinity for 0, NaN for NaN and negative numbers.
  Value logEnds(Value x, Value result) {
    double infinity = std::numeric_limits<double>::infinity();
    result = select(compare(arith::CmpFPredicate::OEQ, x, real(infinity)), x, result);
    result = select(compare(arith::CmpFPredicate::OEQ, x, real(0.0)), real(-infinity), result);
    return select(compare(arith::CmpFPredicate::UGE, x, real(0.0)), select(compare(arith::CmpFPredicate::UNO, x, x), x, result),
                  real(std::numeric_limits<double>::quiet_NaN()));
  }
};

} // namespace npar::codegen
