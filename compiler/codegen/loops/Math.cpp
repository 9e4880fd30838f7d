// Replaces math ops by the arithmetic of Elementary.h.
#include "compiler/codegen/loops/Math.h"
#include "compiler/codegen/loops/Elementary.h"

using namespace mlir;

namespace npar::codegen {

static Value ofF32(const Calculator &c, Operation *op, Value x) {
  if (isa<math::ExpOp>(op))
    return f32::exp(c, x);
  if (isa<math::LogOp>(op))
    return f32::log(c, x);
  if (isa<math::TanhOp>(op))
    return f32::tanh(c, x);
  return isa<math::ErfOp>(op) ? f32::erf(c, x) : Value();
}

static Value ofF64(const Calculator &c, Operation *op, ValueRange operands) {
  Value x = operands[0];
  if (isa<math::ExpOp>(op))
    return f64::exp(c, x);
  if (isa<math::LogOp>(op))
    return f64::log(c, x);
  if (isa<math::TanhOp>(op))
    return f64::tanh(c, x);
  if (isa<math::ErfOp>(op))
    return f64::erf(c, x);
  if (isa<math::SinOp>(op))
    return f64::sin(c, x);
  if (isa<math::CosOp>(op))
    return f64::cos(c, x);
  return isa<math::PowFOp>(op) ? f64::pow(c, x, operands[1]) : Value();
}

Value expandMath(OpBuilder &b, Operation *op, ValueRange operands) {
  if (op->getName().getDialectNamespace() != "math" || operands.empty())
    return {};
  Calculator c(b, op->getLoc(), operands[0].getType());
  if (isa<math::RsqrtOp>(op))
    return c.div(c.real(1.0), math::SqrtOp::create(b, c.loc, operands[0]));
  Type element = getElementTypeOrSelf(c.type);
  if (element.isF32())
    return ofF32(c, op, operands[0]);
  return element.isF64() ? ofF64(c, op, operands) : Value();
}

} // namespace npar::codegen
