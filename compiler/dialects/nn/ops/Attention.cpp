// Attention: softmax(scale * q k) v, one op through autodiff and placing (P5).
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

/// Axes of q that probs lacks: q and k are multiplied over them.
static SmallVector<StringAttr> contractedAxes(Type q, Type probs) {
  SmallVector<StringAttr> axes;
  for (StringAttr name : axesOf(q))
    if (!hasAxis(probs, name))
      axes.push_back(name);
  return axes;
}

static LogicalResult requireAxes(Operation *op, Type type, StringRef what, ArrayRef<StringAttr> axes, StringRef where) {
  for (StringAttr name : axes)
    if (failed(requireAxis(op, type, what, name)))
      return failure();
  for (StringAttr name : axesOf(type))
    if (!llvm::is_contained(axes, name))
      return op->emitOpError() << "axis '" << name.getValue() << "' of " << what << " is missing in " << where;
  return success();
}

// q: [.., seq, heads, groups, contracted], k: [.., seq, heads, contracted], v: [.., seq, heads, feature], probs: [.., heads, groups, seq,
// key].
template <typename Op> static LogicalResult verifyShapes(Op op) {
  Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType(), probs = op.getProbs().getType();
  StringAttr seq = op.getSeqAttr(), key = op.getKeyAttr(), feature = op.getFeatureAttr();
  if (failed(requireSameElement(op, {q, k, v, probs})) || failed(requireAxis(op, probs, "probs", seq)) ||
      failed(requireAxis(op, probs, "probs", key)) || failed(requireNoAxis(op, probs, "probs", feature)) ||
      failed(requireNoAxis(op, q, "q", key)) || failed(requireWithin(op, k, "k", q, "q")))
    return failure();
  SmallVector<StringAttr> rows, heads; // of q and of k without what is contracted
  for (StringAttr name : axesOf(probs)) {
    if (name == key)
      continue;
    rows.push_back(name);
    if (hasAxis(k, name))
      heads.push_back(name);
  }
  SmallVector<StringAttr> contracted = contractedAxes(q, probs), queries(rows), keys(heads), values(heads);
  if (contracted.empty())
    return op.emitOpError() << "q and k have no axis to be multiplied over: probs has all axes of q";
  queries.append(contracted);
  keys.append(contracted);
  values.push_back(feature);
  if (failed(requireAxes(op, q, "q", queries, "probs")) || failed(requireAxis(op, k, "k", seq)) ||
      failed(requireAxes(op, k, "k", keys, "q")) || failed(requireAxes(op, v, "v", values, "k")))
    return failure();
  int64_t size = sizeOf(q, seq), alias = sizeOf(probs, key);
  if (size != alias)
    return op.emitOpError() << "axis '" << seq.getValue() << "' has size " << size << " but its alias '" << key.getValue() << "' has "
                            << alias;
  return success();
}

/// out has the axes of probs with the feature in place of the key.
template <typename Op> static LogicalResult verifyOut(Op op, Type out, StringRef what) {
  SmallVector<StringAttr> axes;
  for (StringAttr name : axesOf(op.getProbs().getType()))
    axes.push_back(name == op.getKeyAttr() ? op.getFeatureAttr() : name);
  return requireAxes(op, out, what, axes, "probs");
}

LogicalResult AttentionOp::verify() { return failure(failed(verifyShapes(*this)) || failed(verifyOut(*this, getOut().getType(), "out"))); }
LogicalResult AttentionGradOp::verify() {
  return failure(failed(verifyShapes(*this)) || failed(verifyOut(*this, getDout().getType(), "dout")) ||
                 failed(requireSameOrder(*this, getDq().getType(), "dq", getQ().getType(), "q")) ||
                 failed(requireSameOrder(*this, getDk().getType(), "dk", getK().getType(), "k")) ||
                 failed(requireSameOrder(*this, getDv().getType(), "dv", getV().getType(), "v")));
}

// Heads, groups and what is before them are parallel; the gradients of k and v are sums over the groups.
template <typename Op> static SmallVector<LoopAxis> loopAxes(Op op) {
  SmallVector<LoopAxis> axes = defaultLoopAxes(op);
  SmallVector<StringAttr> whole = contractedAxes(op.getQ().getType(), op.getProbs().getType());
  whole.append({op.getSeqAttr(), op.getKeyAttr(), op.getFeatureAttr()});
  for (StringAttr axis : whole)
    axes = withKind(std::move(axes), axis, LoopKind::Whole);
  return axes;
}
SmallVector<LoopAxis> AttentionOp::getLoopAxes() { return loopAxes(*this); }
SmallVector<LoopAxis> AttentionGradOp::getLoopAxes() { return loopAxes(*this); }

/// One product with q or k and one with v for each probability.
template <typename Op> static double productFlops(Op op, double probabilities) {
  double contracted = 1;
  for (StringAttr axis : contractedAxes(op.getQ().getType(), op.getProbs().getType()))
    contracted *= static_cast<double>(sizeOf(op.getQ().getType(), axis));
  return 2 * probabilities * (contracted + static_cast<double>(sizeOf(op.getV().getType(), op.getFeatureAttr())));
}

// Two products forward, four backward, and the softmax.
double AttentionOp::getFlops() {
  double probabilities = static_cast<double>(getProbs().getType().getNumElements());
  return productFlops(*this, probabilities) + 7 * probabilities;
}
double AttentionGradOp::getFlops() {
  double probabilities = static_cast<double>(getProbs().getType().getNumElements());
  return 2 * productFlops(*this, probabilities) + 6 * probabilities;
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
