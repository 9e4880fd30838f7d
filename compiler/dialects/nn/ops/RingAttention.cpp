// A step of attention whose keys travel round a ring (RULES.md#P5).
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/RingAttention.cpp.inc"

void nn::addRingAttention(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/RingAttention.cpp.inc"
      >(dialect);
}

static LogicalResult requireElement(Operation *op, Type type, StringRef what, Type element) {
  if (getElementTypeOrSelf(type) != element)
    return op->emitOpError() << what << " is of " << getElementTypeOrSelf(type) << ", must be of " << element;
  return success();
}

/// All operands of a step have the sequence, as far as one rank has it.
template <typename Op> static LogicalResult verifyOperands(Op op) {
  Type q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  StringAttr seq = op.getSeqAttr(), feature = op.getFeatureAttr(), keys = op.getKeyAxis();
  if (op.getRing().empty() || int64_t(op.getStep()) < 0)
    return op.emitOpError() << "goes round " << op.getRing().size() << " mesh axes, at step " << int64_t(op.getStep());
  if (failed(requireSameElement(op, {q, k, v})) || failed(requireAxis(op, q, "q", seq)) || failed(requireAxis(op, k, "k", keys)) ||
      failed(requireAxis(op, v, "v", keys)) || failed(requireAxis(op, v, "v", feature)) ||
      (keys == seq && failed(requireWithin(op, k, "k", q, "q"))))
    return failure();
  if (!op.getData().empty() && (!op.getScores() || !op.getKey()))
    return op.emitOpError() << "has " << op.getData().size() << " data and no 'scores' with 'key'";
  ArrayRef<StringAttr> rows = op.getRowAxes();
  for (StringAttr name : rows)
    if (!hasAxis(q, name))
      return op.emitOpError() << "axis '" << name.getValue() << "' of lse is missing in q";
  if (llvm::all_of(axesOf(q), [&](StringAttr name) { return llvm::is_contained(rows, name); }))
    return op.emitOpError() << "q and k have no axis to be multiplied over: lse has all axes of q";
  return success();
}

ArrayRef<StringAttr> RingAttentionOp::getRowAxes() {
  ArrayRef<StringAttr> axes = axesOf(getMade().back().getType());
  return ends() ? axes : axes.drop_back();
}
ArrayRef<StringAttr> RingAttentionGradOp::getRowAxes() { return axesOf(getLse().getType()); }

LogicalResult RingAttentionOp::verify() {
  if (getMade().empty() || getMade().size() > 2 || axesOf(getMade().back().getType()).empty())
    return emitOpError() << "makes " << getMade().size() << " values, must make the state of the softmax, or out and lse";
  Type sums = widened(getQ().getType());
  if (failed(verifyOperands(*this)) || failed(requireElement(*this, getMade().back().getType(), ends() ? "lse" : "the state", sums)))
    return failure();
  int64_t values = sizeOf(getV().getType(), getFeatureAttr());
  auto verifyState = [&](Type state, StringRef what) -> LogicalResult {
    ArrayRef<StringAttr> axes = axesOf(state);
    if (axes.empty() || axes.drop_back() != getRowAxes() || sizeOf(state, axes.back()) != values + 2)
      return emitOpError() << what << " must have the axes of lse and one of size " << values + 2;
    return requireElement(*this, state, what, sums);
  };
  if (getBefore() && failed(verifyState(getBefore().getType(), "before")))
    return failure();
  return ends() ? requireSameElement(*this, {getQ().getType(), getMade()[0].getType()}) : verifyState(getMade()[0].getType(), "the state");
}

LogicalResult RingAttentionGradOp::verify() {
  Type q = getQ().getType(), k = getK().getType(), v = getV().getType(), sums = widened(q);
  if (failed(verifyOperands(*this)) || failed(requireSameElement(*this, {q, getOut().getType(), getDout().getType()})) ||
      failed(requireElement(*this, getLse().getType(), "lse", sums)))
    return failure();
  const char *names[] = {"dq", "dk", "dv"};
  const Type operands[] = {q, k, v};
  for (auto [result, name, operand] : llvm::zip(getResults(), names, operands))
    if (failed(requireElement(*this, result.getType(), name, sums)) ||
        failed(requireSameOrder(*this, result.getType(), name, operand, "its operand")))
      return failure();
  return success();
}

/// Axes inside a row must be whole. `seq` is the context: each rank has its own queries and, at every step, the keys of some rank.
template <typename Op> static SmallVector<LoopAxis> loopAxes(Op op) {
  SmallVector<LoopAxis> axes = defaultLoopAxes(op);
  for (LoopAxis &axis : axes)
    if (!llvm::is_contained(op.getRowAxes(), axis.name))
      axis.kind = LoopKind::Whole;
  return withKind(std::move(axes), op.getSeqAttr(), LoopKind::Context);
}
SmallVector<LoopAxis> RingAttentionOp::getLoopAxes() { return loopAxes(*this); }
SmallVector<LoopAxis> RingAttentionGradOp::getLoopAxes() { return loopAxes(*this); }

/// Data of queries and keys have all keys of the ring: another loop than that of the keys which are here.
template <typename Op> static StringAttr loopOf(Op op, Type type, StringAttr axis) {
  if (!op.getScores() || axis != op.getDataAxis() || !hasAxis(type, op.getSeqAttr()))
    return axis;
  return StringAttr::get(op.getContext(), axis.getValue() + ".all");
}
StringAttr RingAttentionOp::loopOfOperand(unsigned operand, StringAttr axis) { return loopOf(*this, getOperand(operand).getType(), axis); }
StringAttr RingAttentionOp::loopOfResult(unsigned, StringAttr axis) { return axis; }
StringAttr RingAttentionGradOp::loopOfOperand(unsigned operand, StringAttr axis) {
  return loopOf(*this, getOperand(operand).getType(), axis);
}
StringAttr RingAttentionGradOp::loopOfResult(unsigned result, StringAttr axis) { return loopOf(*this, getResult(result).getType(), axis); }

/// Pairs of a query and a key, in all heads, for which the rank that has most to do computes something.
template <typename Op> static double pairs(Op op) {
  double keys = static_cast<double>(sizeOf(op.getK().getType(), op.getKeyAxis())), rows = 1;
  for (StringAttr name : op.getRowAxes())
    rows *= static_cast<double>(sizeOf(op.getQ().getType(), name));
  if (!op.getCausal())
    return rows * keys;
  return rows * (op.getStep() == 0 ? (keys + 1) / 2 : op.getBalanced() ? keys / 2 : keys);
}

/// Floating-point operations of products, per pair of positions: `contracted` products with q or k, `values` products with v.
template <typename Op> static double productFlops(Op op, int contracted, int values) {
  double features = 1;
  for (StringAttr name : axesOf(op.getQ().getType()))
    if (!llvm::is_contained(op.getRowAxes(), name))
      features *= static_cast<double>(sizeOf(op.getQ().getType(), name));
  return 2 * pairs(op) * (contracted * features + values * static_cast<double>(sizeOf(op.getV().getType(), op.getFeatureAttr())));
}
double RingAttentionOp::getFlops() { return getProductFlops() + 7 * pairs(*this); }
double RingAttentionGradOp::getFlops() { return getProductFlops() + 6 * pairs(*this); }
double RingAttentionOp::getProductFlops() { return productFlops(*this, 1, 1); }
double RingAttentionGradOp::getProductFlops() { return productFlops(*this, 3, 2); }

// The gradients of k and v are sums over the groups.
bool RingAttentionGradOp::needsZeroPadding(unsigned operand, StringAttr axis) {
  if (operand >= 6)
    return false;
  return isContracted(*this, operand, axis) || !hasAxis(getK().getType(), axis);
}
