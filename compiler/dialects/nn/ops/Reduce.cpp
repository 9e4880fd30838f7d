// Sums, maxima and broadcasts.
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Reduce.cpp.inc"

void nn::addReduce(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Reduce.cpp.inc"
      >(dialect);
}

static LogicalResult verifyReduce(Operation *op) {
  Type x = op->getOperand(0).getType(), y = op->getResult(0).getType();
  return failure(failed(requireSameElement(op, {x, y})) || failed(requireWithin(op, y, "the result", x, "the operand")));
}
LogicalResult SumOp::verify() { return verifyReduce(*this); }
LogicalResult MaxOp::verify() { return verifyReduce(*this); }
LogicalResult IsMaxOp::verify() {
  Type x = getX().getType();
  return failure(failed(requireSameElement(*this, {x, getMax().getType(), getType()})) ||
                 failed(requireWithin(*this, getMax().getType(), "the maximum", x, "x")) ||
                 failed(requireSameOrder(*this, getType(), "the result", x, "x")));
}
LogicalResult BroadcastOp::verify() {
  return failure(failed(requireSameElement(*this, {getX().getType(), getType()})) ||
                 failed(requireWithin(*this, getX().getType(), "the operand", getType(), "the result")));
}

OpFoldResult SumOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult(); }
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult(); }

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](BroadcastOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto fill = op.getX().getDefiningOp<FillOp>();
    if (!fill)
      return failure();
    DictionaryAttr discardable = op->getDiscardableAttrDictionary();
    auto folded = rewriter.replaceOpWithNewOp<FillOp>(op, op.getType(), fill.getValueAttr());
    folded->setDiscardableAttrs(discardable);
    return success();
  });
}

SmallVector<Value> SumOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {broadcastTo(builder, getLoc(), gradients[0], getX().getType())};
}
// The derivative of the maximum as the mean of those that the equal elements would have alone, as PyTorch's amax has it.
SmallVector<Value> MaxOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type x = getX().getType(), y = getType();
  Value isMax = IsMaxOp::create(builder, getLoc(), x, getX(), getResult());
  Value count = reduceTo(builder, getLoc(), isMax, y);
  Value share = DivOp::create(builder, getLoc(), y, gradients[0], count);
  return {ChainMulOp::create(builder, getLoc(), x, isMax, share)};
}
SmallVector<Value> BroadcastOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {reduceTo(builder, getLoc(), gradients[0], getX().getType())};
}

// Padding of a split axis enters with the neutral element.
// Axes of `type` that the result lacks and whose shards hold padding: i1 "all of them are logical", or null.
static Value logical(Body &body, Type type, Type result) {
  Value all;
  for (StringAttr axis : axesOf(type)) {
    if (hasAxis(result, axis) || !body.isPadded(type, axis))
      continue;
    Scalar inside = body.isLogical(type, axis);
    all = all ? Value(both(Scalar(body.builder(), all), inside)) : Value(inside);
  }
  return all;
}

LogicalResult SumOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, getX(), 0.0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Value mask = logical(body, getX().getType(), getType());
    Scalar added = mask ? select(mask, in[0], in[0].like(0.0)) : in[0];
    return {isFloat(getType()) ? in[1] + added : addi(in[1], added)};
  });
}

LogicalResult MaxOp::lower(Lowering &lowering) {
  double lowest = isFloat(getType()) ? -std::numeric_limits<double>::infinity() : std::numeric_limits<int32_t>::min();
  return lowering.reduce(*this, getX(), lowest, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Value mask = logical(body, getX().getType(), getType());
    Scalar x = mask ? select(mask, in[0], in[0].like(lowest)) : in[0];
    return {isFloat(getType()) ? maximum(in[1], x) : x.make<arith::MaxSIOp>(in[1], x)};
  });
}

LogicalResult IsMaxOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {select(equal(in[0], in[1]), in[0].like(1.0), in[0].like(0.0))};
  });
}

LogicalResult BroadcastOp::lower(Lowering &lowering) { return lowerUnary<same>(*this, lowering); }
