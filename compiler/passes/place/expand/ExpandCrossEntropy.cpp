// cross_entropy and its gradient as local operations; over a split vocabulary: all_reduce of maximum, sum and the target's logit.
#include "compiler/passes/place/LocalBuilder.h"
#include "compiler/passes/place/expand/Expand.h"

using namespace mlir;

namespace npar::place {

/// Chosen, not multiplied: what is infinite where a target is ignored becomes 0 too. No `ignore`: every target counts.
static Value keepValid(LocalBuilder &b, Value x, Value targets, IntegerAttr ignore) {
  return ignore ? b.build("keep_valid", x.getType(), {x, targets}, {{"ignore", ignore}}) : x;
}

static double valueOf(FloatAttr attribute) { return attribute ? attribute.getValueAsDouble() : 0; }

static void expandCrossEntropy(nn::CrossEntropyOp op) {
  LocalBuilder b(op);
  StringAttr axis = op.getAxisAttr();
  Value max = b.max(op.getLogits(), axis);
  Value sum = b.sum(b.unary("exp", b.binary("sub", op.getLogits(), max)), axis);
  Value lse = b.binary("add", b.unary("log", sum), max, op.getLse().getType());
  Type type = op.getLoss().getType();
  Value chosen = b.pick(op.getLogits(), op.getTargets(), axis);
  if (double smoothing = valueOf(op.getSmoothingAttr()))
    chosen = b.binary("add", b.scale(chosen, 1 - smoothing), b.scale(b.mean(op.getLogits(), axis), smoothing), type);
  Value loss = b.binary("sub", lse, chosen, type);
  if (double zLoss = valueOf(op.getZLossAttr()))
    loss = b.binary("add", loss, b.scale(b.binary("mul", lse, lse, type), zLoss), type);
  loss = keepValid(b, loss, op.getTargets(), op.getIgnoreAttr());
  op->replaceAllUsesWith(ValueRange{loss, lse});
  op->erase();
}

/// The padding of dlogits is zero, as the products after it need (RULES.md#P8).
static void expandCrossEntropyGrad(nn::CrossEntropyGradOp op) {
  LocalBuilder b(op);
  Type type = op.getDlogits().getType();
  StringAttr axis = op.getAxisAttr();
  Value probs = b.unary("exp", b.binary("sub", op.getLogits(), op.getLse(), type));
  if (double zLoss = valueOf(op.getZLossAttr()))
    probs = b.binary("mul", probs, b.shift(b.scale(op.getLse(), 2 * zLoss), 1), type);
  Value target = b.build("one_hot", type, op.getTargets(), {{"axis", axis}});
  if (double smoothing = valueOf(op.getSmoothingAttr())) {
    dist::LayoutAttr layout = dist::layoutOf(op.getLogits());
    target = b.shift(b.scale(target, 1 - smoothing), smoothing / double(layout.getSizes()[layout.dimOf(axis)]));
  }
  Value dlogits = b.binary("mul", b.binary("sub", probs, target, type), op.getDloss(), type);
  dlogits = keepValid(b, dlogits, op.getTargets(), op.getIgnoreAttr());
  op->replaceAllUsesWith(ValueRange{b.maskPadding(dlogits, axis)});
  op->erase();
}

void attachCrossEntropy(MLIRContext *context) {
  nn::CrossEntropyOp::attachInterface<ExpandedBy<nn::CrossEntropyOp, expandCrossEntropy>>(*context);
  nn::CrossEntropyGradOp::attachInterface<ExpandedBy<nn::CrossEntropyGradOp, expandCrossEntropyGrad>>(*context);
}

} // namespace npar::place
