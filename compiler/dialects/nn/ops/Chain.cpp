// Products and quotients of gradients: verifiers and meaning.
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Gradient.h"

#include <limits>

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Chain.cpp.inc"

void nn::addChain(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Chain.cpp.inc"
      >(dialect);
}

/// The result has the axes of dy, one of whose other operands is broadcast.
static LogicalResult verifyChain(Operation *op) {
  Type type = op->getResult(0).getType();
  if (failed(requireSameElement(op, op->getOperandTypes())) || failed(requireSameElement(op, {op->getOperand(0).getType(), type})))
    return failure();
  for (Value operand : op->getOperands())
    if (failed(requireWithin(op, operand.getType(), "an operand", type, "the result")))
      return failure();
  for (StringAttr name : axesOf(type))
    if (llvm::none_of(op->getOperandTypes(), [&](Type operand) { return hasAxis(operand, name); }))
      return op->emitOpError() << "axis '" << name.getValue() << "' of the result appears in no operand";
  return success();
}
LogicalResult ChainOp::verify() { return verifyChain(*this); }
LogicalResult ChainMulOp::verify() { return verifyChain(*this); }
LogicalResult ChainDivOp::verify() { return verifyChain(*this); }
LogicalResult LogGradOp::verify() { return verifyChain(*this); }
LogicalResult DivGradOp::verify() { return verifyChain(*this); }

Scalar nn::isZero(Scalar x) { return equal(x, x.like(0.0)); }
static Scalar isInfinite(Scalar x) { return equal(x.make<math::AbsFOp>(x), x.like(std::numeric_limits<double>::infinity())); }

/// Replaces NaN by 0 where no gradient arrives. All other values keep their bits, and zeros keep their sign.
static Scalar unlessZero(Scalar value, Scalar dy) { return select(both(isNan(value), isZero(dy)), value.like(0.0), value); }

Scalar nn::chain(Scalar dy, Scalar slope) { return unlessZero(dy * slope, dy); }
static Scalar chainDiv(Scalar dy, Scalar b) { return unlessZero(dy / b, dy); }
static Scalar chainMul(Scalar dy, Scalar other) {
  Scalar product = dy * other, nothing = both(isInfinite(dy), isZero(other));
  return select(nothing, product.like(0.0), unlessZero(product, dy));
}
/// The divisor is x itself, or NaN where x is infinite: then the logarithm has overflowed too, and the true slope is unknown.
static Scalar logGrad(Scalar dy, Scalar x) { return unlessZero(dy / (x + (x - x)), dy); }
static Scalar divGrad(Scalar dy, Scalar y, Scalar b) {
  Scalar quotient = dy / b;
  return unlessZero(select(isInfinite(quotient), dy * (y / b), quotient * y), dy);
}

LogicalResult ChainOp::lower(Lowering &lowering) { return lowerBinary<chain>(*this, lowering); }
LogicalResult ChainMulOp::lower(Lowering &lowering) { return lowerBinary<chainMul>(*this, lowering); }
LogicalResult ChainDivOp::lower(Lowering &lowering) { return lowerBinary<chainDiv>(*this, lowering); }
LogicalResult LogGradOp::lower(Lowering &lowering) { return lowerBinary<logGrad>(*this, lowering); }
LogicalResult DivGradOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(),
                      [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {divGrad(in[0], in[1], in[2])}; });
}
