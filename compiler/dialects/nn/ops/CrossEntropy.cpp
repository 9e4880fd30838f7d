// Cross-entropy of logits against target classes, per token, and what becomes of tokens that do not count.
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/CrossEntropy.cpp.inc"

void nn::addCrossEntropy(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/CrossEntropy.cpp.inc"
      >(dialect);
}

// Everything per token has the axes of the logits without `axis`.
static LogicalResult verifyTokens(Operation *op, Type logits, ValueRange perToken, StringAttr axis) {
  if (failed(requireAxis(op, logits, "logits", axis)))
    return failure();
  for (Value value : perToken)
    if (failed(requireWithout(op, value.getType(), "targets, loss and lse", logits, "logits", {axis})))
      return failure();
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  return failure(failed(requireSameElement(*this, {getLogits().getType(), getLoss().getType(), getLse().getType()})) ||
                 failed(verifyTokens(*this, getLogits().getType(), {getTargets(), getLoss(), getLse()}, getAxisAttr())));
}
LogicalResult CrossEntropyGradOp::verify() {
  return failure(failed(requireSameElement(*this, {getLogits().getType(), getLse().getType(), getDloss().getType(), getType()})) ||
                 failed(verifyTokens(*this, getLogits().getType(), {getTargets(), getLse(), getDloss()}, getAxisAttr())) ||
                 failed(requireSameOrder(*this, getType(), "dlogits", getLogits().getType(), "logits")));
}
LogicalResult KeepValidOp::verify() {
  return failure(failed(requireSameElement(*this, {getX().getType(), getType()})) ||
                 failed(requireSameOrder(*this, getX().getType(), "x", getType(), "the result")) ||
                 failed(requireWithin(*this, getTargets().getType(), "the targets", getX().getType(), "x")));
}

SmallVector<Type> CrossEntropyOp::getFurtherTypes(RankedTensorType loss, DictionaryAttr) { return {loss}; }

Value CrossEntropyOp::getIndices() { return getTargets(); }
Value CrossEntropyOp::getIndexed() { return getLogits(); }

SmallVector<LoopAxis> CrossEntropyOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
SmallVector<LoopAxis> CrossEntropyGradOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Internal); }
double CrossEntropyOp::getFlops() { return 5 * loopVolume(*this); }
double CrossEntropyGradOp::getFlops() { return 4 * loopVolume(*this); }

SmallVector<Value> CrossEntropyOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1]) {
    emitOpError() << "no gradient flows through the log of the sum";
    return {};
  }
  return {CrossEntropyGradOp::create(builder, getLoc(), getLogits().getType(), getLogits(), getTargets(), getLse(), gradients[0],
                                     getAxisAttr(), getIgnoreAttr(), getSmoothingAttr(), getZLossAttr()),
          Value()};
}

LogicalResult KeepValidOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar target = extend(in[1], body.builder().getI64Type());
    return {select(equali(target, body.integer(static_cast<int64_t>(getIgnore()))), in[0].like(0.0), in[0])};
  });
}
