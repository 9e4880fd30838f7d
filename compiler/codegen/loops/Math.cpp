// Polynomials for exp, log, tanh and erf in f32 (coefficients: Cephes for exp, log and tanh, Eigen for erf); libm for f64.
#include "compiler/codegen/loops/Math.h"
#include "compiler/codegen/loops/Vector.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace npar::codegen {

namespace {
/// Builds arithmetic on values of one type, scalar or vector.
struct Calculator {
  OpBuilder &b;
  Location loc;
  Type type;      // of floats
  Type bits;      // i32 of the same shape
  Type condition; // i1 of the same shape

  Calculator(OpBuilder &b, Location loc, Type type) : b(b), loc(loc), type(type), bits(b.getI32Type()), condition(b.getI1Type()) {
    if (auto vector = dyn_cast<VectorType>(type)) {
      bits = vector.clone(bits);
      condition = vector.clone(condition);
    }
  }
  Value constantOf(Type of, TypedAttr scalar) {
    if (auto vector = dyn_cast<VectorType>(of))
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vector, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value real(double value) { return constantOf(type, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return constantOf(bits, b.getI32IntegerAttr(value)); }
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
  /// 2^n for n in [-126, 127].
  Value power2(Value n) { return fromBits(arith::ShLIOp::create(b, loc, addi(n, integer(127)), integer(23))); }
};
} // namespace

// exp(x) = 2^n exp(r), |r| <= ln2 / 2; 2^n in two factors, so that the result underflows gradually and overflows to infinity.
static Value expF32(Calculator c, Value x) {
  x = c.clamp(x, -104.0, 89.0);
  Value magic = c.real(12582912.0); // 1.5 * 2^23: adding it rounds to an integer, kept in the low bits
  Value shifted = c.fma(x, c.real(1.44269504088896341), magic);
  Value n = c.sub(shifted, magic);
  Value exponent = c.subi(c.toBits(shifted), c.integer(0x4B400000));
  Value r = c.fma(n, c.real(-0.693359375), x);
  r = c.fma(n, c.real(2.12194440e-4), r);
  Value p = c.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  Value y = c.fma(p, c.mul(r, r), c.add(r, c.real(1.0)));
  Value half = arith::ShRSIOp::create(c.b, c.loc, exponent, c.integer(1));
  return c.mul(c.mul(y, c.power2(half)), c.power2(c.subi(exponent, half)));
}

static Value logF32(Calculator c, Value x) {
  Value tiny = c.compare(arith::CmpFPredicate::OLT, x, c.real(1.17549435e-38));
  Value scaled = c.select(tiny, c.mul(x, c.real(33554432.0)), x); // 2^25: denormals become normal
  Value word = c.toBits(scaled);
  Value biased = arith::ShRUIOp::create(c.b, c.loc, word, c.integer(23));
  Value exponent = c.subi(c.subi(biased, c.integer(126)), c.select(tiny, c.integer(25), c.integer(0)));
  Value mantissa = arith::AndIOp::create(c.b, c.loc, word, c.integer(0x007FFFFF));
  Value m = c.fromBits(arith::OrIOp::create(c.b, c.loc, mantissa, c.integer(0x3F000000))); // [0.5, 1)
  Value small = c.compare(arith::CmpFPredicate::OLT, m, c.real(0.70710678118654752));
  Value e = arith::SIToFPOp::create(c.b, c.loc, c.type, c.subi(exponent, c.select(small, c.integer(1), c.integer(0))));
  Value t = c.sub(c.select(small, c.add(m, m), m), c.real(1.0));
  Value z = c.mul(t, t);
  Value p = c.polynomial(t, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                             2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value y = c.mul(c.mul(p, z), t);
  y = c.fma(e, c.real(-2.12194440e-4), y);
  y = c.fma(z, c.real(-0.5), y);
  Value result = c.fma(e, c.real(0.693359375), c.add(t, y));
  double infinity = std::numeric_limits<double>::infinity();
  result = c.select(c.compare(arith::CmpFPredicate::OEQ, x, c.real(infinity)), x, result);
  result = c.select(c.compare(arith::CmpFPredicate::OEQ, x, c.real(0.0)), c.real(-infinity), result);
  return c.select(c.compare(arith::CmpFPredicate::UGE, x, c.real(0.0)), c.select(c.compare(arith::CmpFPredicate::UNO, x, x), x, result),
                  c.real(std::numeric_limits<double>::quiet_NaN()));
}

// Odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) beyond.
static Value tanhF32(Calculator c, Value x) {
  Value size = math::AbsFOp::create(c.b, c.loc, x);
  Value z = c.mul(x, x);
  Value p = c.polynomial(z, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1});
  Value near = c.fma(c.mul(p, z), x, x);
  Value far = c.sub(c.real(1.0), c.div(c.real(2.0), c.add(expF32(c, c.add(size, size)), c.real(1.0))));
  far = math::CopySignOp::create(c.b, c.loc, far, x);
  return c.select(c.compare(arith::CmpFPredicate::OLT, size, c.real(0.625)), near, far);
}

static Value erfF32(Calculator c, Value x) {
  Value t = c.clamp(x, -4.0, 4.0);
  Value z = c.mul(t, t);
  Value p = c.polynomial(z, {-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05,
                             -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02});
  Value q =
      c.polynomial(z, {-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02});
  return c.clamp(c.div(c.mul(t, p), q), -1.0, 1.0);
}

// A libm function lane by lane.
static Value libm(OpBuilder &b, Location loc, StringRef name, Value x) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module)
    module = cast<ModuleOp>(b.getInsertionBlock()->getParentOp());
  if (!module.lookupSymbol(name)) {
    OpBuilder declare = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(declare, loc, name, b.getFunctionType({b.getF64Type()}, {b.getF64Type()}));
    function.setPrivate();
  }
  auto call = [&](Value scalar) { return func::CallOp::create(b, loc, name, b.getF64Type(), ValueRange{scalar}).getResult(0); };
  auto vector = dyn_cast<VectorType>(x.getType());
  if (!vector)
    return call(x);
  Value result = LLVM::PoisonOp::create(b, loc, vector);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value position = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(i));
    result = LLVM::InsertElementOp::create(b, loc, vector, result, call(lane(b, loc, x, i)), position);
  }
  return result;
}

Value expandMath(OpBuilder &b, Operation *op, ValueRange operands) {
  if (op->getName().getDialectNamespace() != "math" || operands.empty())
    return {};
  Location loc = op->getLoc();
  Type type = operands[0].getType();
  bool f32 = getElementTypeOrSelf(type).isF32();
  Calculator c(b, loc, type);
  if (isa<math::RsqrtOp>(op)) {
    Value root = math::SqrtOp::create(b, loc, operands[0]);
    TypedAttr one = b.getFloatAttr(getElementTypeOrSelf(type), 1.0);
    return arith::DivFOp::create(b, loc, c.constantOf(type, one), root);
  }
  if (isa<math::ErfOp>(op))
    return f32 ? erfF32(c, operands[0]) : libm(b, loc, "erf", operands[0]);
  if (!f32)
    return {}; // LLVM's intrinsics call libm
  if (isa<math::ExpOp>(op))
    return expF32(c, operands[0]);
  if (isa<math::LogOp>(op))
    return logF32(c, operands[0]);
  if (isa<math::TanhOp>(op))
    return tanhF32(c, operands[0]);
  return {};
}

} // namespace npar::codegen
