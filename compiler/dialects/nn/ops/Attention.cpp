// Attention: softmax(scale * q k) v, one op through autodiff and placing (P5).
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

static bool isPlaced(Type type) { return !llvm::isa<AxesAttr>(llvm::cast<RankedTensorType>(type).getEncoding()); }

// lse: [.. without feature, seq]
template <typename Op> static LogicalResult verifyLse(Op op) {
  return requireWithout(op, op.getLse().getType(), "lse", op.getQ().getType(), "q", {op.getFeatureAttr()});
}

template <typename Op> static LogicalResult verifyProbs(Op op) {
  Type q = op.getQ().getType(), probs = op.getProbs().getType();
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr(), feature = op.getFeatureAttr();
  if (failed(requireAxis(op, probs, "probs", key)) || failed(requireNoAxis(op, probs, "probs", feature)))
    return failure();
  for (StringAttr name : axesOf(q))
    if (name != feature && failed(requireAxis(op, probs, "probs", name)))
      return failure();
  for (StringAttr name : axesOf(probs))
    if (name != key && failed(requireAxis(op, q, "q", name)))
      return failure();
  // After placing the queries may be split while the keys are whole.
  int64_t queries = sizeOf(q, seq), keys = sizeOf(probs, key);
  if (!isPlaced(q) && queries != keys)
    return op.emitOpError() << "axis '" << seq.getValue() << "' has size " << queries << " but its alias '" << key.getValue() << "' has "
                            << keys;
  return success();
}

template <typename Op> static LogicalResult verifyShapes(Op op) {
  Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  for (StringAttr axis : {op.getSeqAttr(), op.getFeatureAttr()})
    if (failed(requireAxis(op, q, "q", axis)))
      return failure();
  if (failed(requireNoAxis(op, q, "q", op.getKeyAttr())) || failed(requireSameElement(op, {q, k, v})) ||
      (!op.getRing() && failed(requireSameElement(op, {q, op.getProbs().getType()}))) ||
      failed(requireSameAxes(op, k, "k", q, "q")) || failed(requireSameAxes(op, v, "v", q, "q")))
    return failure();
  return op.getRing() ? verifyLse(op) : verifyProbs(op);
}

LogicalResult AttentionOp::verify() {
  return failure(failed(verifyShapes(*this)) || failed(requireSameAxes(*this, getOut().getType(), "out", getQ().getType(), "q")));
}
LogicalResult AttentionGradOp::verify() {
  Type q = getQ().getType();
  if (getRing() && !getOut())
    return emitOpError("with 'ring' needs 'out'");
  return failure(failed(verifyShapes(*this)) || failed(requireSameAxes(*this, getDout().getType(), "dout", q, "q")) ||
                 (getOut() && failed(requireSameAxes(*this, getOut().getType(), "out", q, "q"))) ||
                 failed(requireSameOrder(*this, getDq().getType(), "dq", q, "q")) ||
                 failed(requireSameOrder(*this, getDk().getType(), "dk", getK().getType(), "k")) ||
                 failed(requireSameOrder(*this, getDv().getType(), "dv", getV().getType(), "v")));
}

template <typename Op> static SmallVector<LoopAxis> loopAxes(Op op) {
  SmallVector<LoopAxis> axes = withKind(defaultLoopAxes(op), op.getSeqAttr(), LoopKind::Context);
  if (!op.getRing())
    axes = withKind(std::move(axes), op.getKeyAttr(), LoopKind::Whole);
  return withKind(std::move(axes), op.getFeatureAttr(), LoopKind::Whole);
}
SmallVector<LoopAxis> AttentionOp::getLoopAxes() { return loopAxes(*this); }
SmallVector<LoopAxis> AttentionGradOp::getLoopAxes() { return loopAxes(*this); }

// k and v, their gradients as well, have the sequence under its alias; on a ring each rank has the keys of its own queries.
template <typename Op> static StringAttr loopOf(Op op, bool keyed, StringAttr axis) {
  return keyed && !op.getRing() && axis == op.getSeqAttr() ? op.getKeyAttr() : axis;
}
StringAttr AttentionOp::loopOfOperand(unsigned operand, StringAttr axis) { return loopOf(*this, operand == 1 || operand == 2, axis); }
StringAttr AttentionOp::loopOfResult(unsigned, StringAttr axis) { return axis; }
StringAttr AttentionGradOp::loopOfOperand(unsigned operand, StringAttr axis) { return loopOf(*this, operand == 1 || operand == 2, axis); }
StringAttr AttentionGradOp::loopOfResult(unsigned result, StringAttr axis) { return loopOf(*this, result == 1 || result == 2, axis); }

// Pairs of a query and a key, times features.
template <typename Op> static double volume(Op op) {
  return loopVolume(op) * (op.getRing() ? static_cast<double>(sizeOf(op.getQ().getType(), op.getSeqAttr())) : 1);
}

// Two products forward, four backward, and the softmax.
double AttentionOp::getFlops() { return 2 * 2 * volume(*this) + 7 * volume(*this) / sizeOf(getQ().getType(), getFeatureAttr()); }
double AttentionGradOp::getFlops() {
  return 4 * 2 * volume(*this) + 6 * volume(*this) / sizeOf(getQ().getType(), getFeatureAttr());
}

SmallVector<Value> AttentionOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (!gradients[0] || gradients[1]) {
    emitOpError() << "no gradient flows through the probabilities";
    return {};
  }
  auto grad = AttentionGradOp::create(builder, getLoc(), TypeRange{getQ().getType(), getK().getType(), getV().getType()}, getQ(), getK(),
                                      getV(), getProbs(), gradients[0], getRing() ? getOut() : Value(), getSeqAttr(), getKeyAttr(),
                                      getFeatureAttr(), getCausalAttr(), getScaleAttr(), getRingAttr());
  return {grad.getDq(), grad.getDk(), grad.getDv()};
}
