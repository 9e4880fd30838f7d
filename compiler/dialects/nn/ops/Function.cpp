// Functions of one element: verifiers, gradients, meaning.
#include "compiler/dialects/nn/ops/Function.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Function.cpp.inc"

void nn::addFunction(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Function.cpp.inc"
      >(dialect);
}

static LogicalResult verifyFunction(Operation *op) {
  Type x = op->getOperand(0).getType(), y = op->getResult(0).getType();
  return failure(failed(requireSameElement(op, {x, y})) || failed(requireSameOrder(op, y, "the result", x, "the operand")));
}
LogicalResult SqrtOp::verify() { return verifyFunction(*this); }
LogicalResult CosOp::verify() { return verifyFunction(*this); }
LogicalResult SinOp::verify() { return verifyFunction(*this); }
LogicalResult AbsOp::verify() { return verifyFunction(*this); }
LogicalResult StopGradientOp::verify() { return verifyFunction(*this); }

// y = sqrt(x): dx = dy / (2 y), and as of a logarithm no number where x is infinite.
SmallVector<Value> SqrtOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value half = scaled(builder, getLoc(), gradients[0], 0.5);
  return {LogGradOp::create(builder, getLoc(), getX().getType(), half, getResult())};
}
SmallVector<Value> CosOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getX().getType();
  Value product = ChainOp::create(builder, getLoc(), type, gradients[0], SinOp::create(builder, getLoc(), type, getX()));
  return {scaled(builder, getLoc(), product, -1)};
}
SmallVector<Value> SinOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getX().getType();
  return {ChainOp::create(builder, getLoc(), type, gradients[0], CosOp::create(builder, getLoc(), type, getX()))};
}
// dy where x > 0, -dy where x < 0.
SmallVector<Value> AbsOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type type = getX().getType();
  Value above = ReluGradOp::create(builder, getLoc(), type, getX(), gradients[0]);
  Value below = ReluGradOp::create(builder, getLoc(), type, scaled(builder, getLoc(), getX(), -1), gradients[0]);
  return {SubOp::create(builder, getLoc(), type, above, below)};
}
SmallVector<Value> StopGradientOp::buildGradients(OpBuilder &, ValueRange) { return {Value()}; }

static Scalar absolute(Scalar x) { return x.make<math::AbsFOp>(x); }

LogicalResult SqrtOp::lower(Lowering &lowering) { return lowerUnary<sqrt>(*this, lowering); }
LogicalResult CosOp::lower(Lowering &lowering) { return lowerUnary<cos>(*this, lowering); }
LogicalResult SinOp::lower(Lowering &lowering) { return lowerUnary<sin>(*this, lowering); }
LogicalResult AbsOp::lower(Lowering &lowering) { return lowerUnary<absolute>(*this, lowering); }
LogicalResult StopGradientOp::lower(Lowering &lowering) { return lowerUnary<same>(*this, lowering); }
