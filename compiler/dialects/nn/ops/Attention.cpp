// Attention: softmax(scale * q k) v, one op through autodiff and placing (P5).
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

template <typename Op> static LogicalResult verifyShapes(Op op) {
  Type q = op.getQ().getType(), probs = op.getProbs().getType();
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr(), feature = op.getFeatureAttr();
  for (StringAttr axis : {seq, feature})
    if (failed(requireAxis(op, q, "q", axis)))
      return failure();
  if (failed(requireNoAxis(op, q, "q", key)) || failed(requireSameElement(op, {q, op.getK().getType(), op.getV().getType(), probs})) ||
      failed(requireSameAxes(op, op.getK().getType(), "k", q, "q")) || failed(requireSameAxes(op, op.getV().getType(), "v", q, "q")) ||
      failed(requireAxis(op, probs, "probs", key)) || failed(requireNoAxis(op, probs, "probs", feature)))
    return failure();
  for (StringAttr name : axesOf(q))
    if (name != feature && failed(requireAxis(op, probs, "probs", name)))
      return failure();
  for (StringAttr name : axesOf(probs))
    if (name != key && failed(requireAxis(op, q, "q", name)))
      return failure();
  int64_t queries = sizeOf(q, seq), keys = sizeOf(probs, key);
  if (queries != keys)
    return op.emitOpError() << "axis '" << seq.getValue() << "' has size " << queries << " but its alias '" << key.getValue() << "' has "
                            << keys;
  return success();
}

LogicalResult AttentionOp::verify() {
  return failure(failed(verifyShapes(*this)) || failed(requireSameAxes(*this, getOut().getType(), "out", getQ().getType(), "q")));
}
LogicalResult AttentionGradOp::verify() {
  Type q = getQ().getType();
  return failure(failed(verifyShapes(*this)) || failed(requireSameAxes(*this, getDout().getType(), "dout", q, "q")) ||
                 failed(requireSameOrder(*this, getDq().getType(), "dq", q, "q")) ||
                 failed(requireSameOrder(*this, getDk().getType(), "dk", getK().getType(), "k")) ||
                 failed(requireSameOrder(*this, getDv().getType(), "dv", getV().getType(), "v")));
}

template <typename Op> static SmallVector<LoopAxis> loopAxes(Op op) {
  SmallVector<LoopAxis> axes = defaultLoopAxes(op);
  for (StringAttr axis : {op.getSeqAttr(), op.getKeyAttr(), op.getFeatureAttr()})
    axes = withKind(std::move(axes), axis, LoopKind::Whole);
  return axes;
}
SmallVector<LoopAxis> AttentionOp::getLoopAxes() { return loopAxes(*this); }
SmallVector<LoopAxis> AttentionGradOp::getLoopAxes() { return loopAxes(*this); }

// Two products forward, four backward, and the softmax.
double AttentionOp::getFlops() { return 2 * 2 * loopVolume(*this) + 7 * loopVolume(*this) / sizeOf(getQ().getType(), getFeatureAttr()); }
double AttentionGradOp::getFlops() {
  return 4 * 2 * loopVolume(*this) + 6 * loopVolume(*this) / sizeOf(getQ().getType(), getFeatureAttr());
}

SmallVector<Value> AttentionOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1]) {
    emitOpError() << "no gradient flows through the probabilities";
    return {};
  }
  auto grad =
      AttentionGradOp::create(builder, getLoc(), TypeRange{getQ().getType(), getK().getType(), getV().getType()}, getQ(), getK(), getV(),
                              getProbs(), gradients[0], getSeqAttr(), getKeyAttr(), getFeatureAttr(), getCausalAttr(), getScaleAttr());
  return {grad.getDq(), grad.getDk(), grad.getDv()};
}
