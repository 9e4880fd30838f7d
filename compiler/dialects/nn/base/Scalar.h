// Scalar expressions for what ops compute, so that a formula reads as one: `half * x * (tanh(u) + 1.0)`.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace npar::nn {

/// A scalar value and the builder of the body it lives in. Operators build floating-point arith ops; a double operand becomes a constant
/// of the other operand's type.
class Scalar {
public:
  Scalar() = default;
  Scalar(mlir::ImplicitLocOpBuilder &b, mlir::Value value) : b(&b), value(value) {}
  operator mlir::Value() const { return value; }
  mlir::Type type() const { return value.getType(); }
  mlir::ImplicitLocOpBuilder &builder() const { return *b; }
  /// A constant of this value's type.
  Scalar like(double constant) const {
    mlir::TypedAttr attr = llvm::isa<mlir::FloatType>(type()) ? mlir::TypedAttr(b->getFloatAttr(type(), constant))
                                                              : mlir::TypedAttr(b->getIntegerAttr(type(), int64_t(constant)));
    return make<mlir::arith::ConstantOp>(attr);
  }
  template <typename Op, typename... Args> Scalar make(Args &&...args) const { return {*b, Op::create(*b, std::forward<Args>(args)...)}; }

private:
  mlir::ImplicitLocOpBuilder *b = nullptr;
  mlir::Value value;
};

#define NPAR_SCALAR_OPERATOR(symbol, Float)                                                                                                \
  inline Scalar operator symbol(Scalar x, Scalar y) { return x.make<mlir::arith::Float>(x, y); }                                           \
  inline Scalar operator symbol(Scalar x, double y) { return x symbol x.like(y); }                                                         \
  inline Scalar operator symbol(double x, Scalar y) { return y.like(x) symbol y; }
NPAR_SCALAR_OPERATOR(+, AddFOp)
NPAR_SCALAR_OPERATOR(-, SubFOp)
NPAR_SCALAR_OPERATOR(*, MulFOp)
NPAR_SCALAR_OPERATOR(/, DivFOp)
#undef NPAR_SCALAR_OPERATOR

inline Scalar exp(Scalar x) { return x.make<mlir::math::ExpOp>(x); }
inline Scalar log(Scalar x) { return x.make<mlir::math::LogOp>(x); }
inline Scalar tanh(Scalar x) { return x.make<mlir::math::TanhOp>(x); }
inline Scalar erf(Scalar x) { return x.make<mlir::math::ErfOp>(x); }
inline Scalar sqrt(Scalar x) { return x.make<mlir::math::SqrtOp>(x); }
inline Scalar cos(Scalar x) { return x.make<mlir::math::CosOp>(x); }
inline Scalar sin(Scalar x) { return x.make<mlir::math::SinOp>(x); }
inline Scalar pow(Scalar x, Scalar y) { return x.make<mlir::math::PowFOp>(x, y); }
inline Scalar fma(Scalar x, Scalar y, Scalar z) { return x.make<mlir::math::FmaOp>(x, y, z); }
/// NaN if either is.
inline Scalar maximum(Scalar x, Scalar y) { return x.make<mlir::arith::MaximumFOp>(x, y); }
inline Scalar minimum(Scalar x, Scalar y) { return x.make<mlir::arith::MinimumFOp>(x, y); }
inline Scalar select(mlir::Value where, Scalar x, Scalar y) { return x.make<mlir::arith::SelectOp>(where, x, y); }
inline Scalar less(Scalar x, Scalar y) { return x.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, x, y); }
inline Scalar greater(Scalar x, Scalar y) { return x.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OGT, x, y); }
inline Scalar equal(Scalar x, Scalar y) { return x.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OEQ, x, y); }
inline Scalar isNan(Scalar x) { return x.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::UNO, x, x); }
/// x - x is 0 for finite numbers, else NaN.
inline Scalar isFinite(Scalar x) { return x.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::ORD, x - x, x - x); }
// Integers.
inline Scalar addi(Scalar x, Scalar y) { return x.make<mlir::arith::AddIOp>(x, y); }
inline Scalar subi(Scalar x, Scalar y) { return x.make<mlir::arith::SubIOp>(x, y); }
inline Scalar muli(Scalar x, Scalar y) { return x.make<mlir::arith::MulIOp>(x, y); }
inline Scalar lessi(Scalar x, Scalar y) { return x.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, x, y); }
inline Scalar equali(Scalar x, Scalar y) { return x.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, x, y); }
inline Scalar both(Scalar x, Scalar y) { return x.make<mlir::arith::AndIOp>(x, y); }
inline Scalar either(Scalar x, Scalar y) { return x.make<mlir::arith::OrIOp>(x, y); }
/// A truth value as an integer.
inline Scalar isTrue(Scalar condition) { return condition.make<mlir::arith::ExtUIOp>(condition.builder().getI32Type(), condition); }
inline Scalar asI32(Scalar index) { return index.make<mlir::arith::TruncIOp>(index.builder().getI32Type(), index); }
inline Scalar extend(Scalar x, mlir::Type to) { return x.make<mlir::arith::ExtSIOp>(to, x); }
inline Scalar toFloat(Scalar x, mlir::Type to) { return x.make<mlir::arith::SIToFPOp>(to, x); }
/// A float32 as TF32 (RULES.md#N8), as engine/numbers/NarrowFloat.h has it.
inline Scalar toTf32(Scalar x) {
  Scalar bits = x.make<mlir::arith::BitcastOp>(x.builder().getI32Type(), x), exponent = bits.like(0x7F800000);
  Scalar nearest = both(addi(bits, bits.like(0x1000)), bits.like(-0x2000));
  Scalar word = select(equali(both(bits, exponent), exponent), bits, nearest);
  return word.make<mlir::arith::BitcastOp>(x.type(), word);
}
/// Converts between floating-point types. In a body only loaded and yielded values have 16 bits (codegen/lowering).
inline Scalar convert(Scalar x, mlir::Type to) {
  if (x.type() == to)
    return x;
  if (x.type().getIntOrFloatBitWidth() > 32 && to.getIntOrFloatBitWidth() < 32)
    return convert(convert(x, mlir::Float32Type::get(to.getContext())), to);
  return x.type().getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth()
             ? x.make<mlir::arith::ExtFOp>(mlir::TypeRange(to), mlir::ValueRange(mlir::Value(x)))
             : x.make<mlir::arith::TruncFOp>(mlir::TypeRange(to), mlir::ValueRange(mlir::Value(x)));
}

} // namespace npar::nn
