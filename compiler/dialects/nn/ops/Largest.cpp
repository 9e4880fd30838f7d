// The first of the largest entries, and the maximum whose gradient goes there: verifiers, gradient and meaning.
#include "compiler/dialects/nn/ops/Largest.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Largest.cpp.inc"

void nn::addLargest(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Largest.cpp.inc"
      >(dialect);
}

/// Refuses, unless `type` has all axes.
static LogicalResult verifyAxes(Operation *op, ArrayAttr axes, Type type, StringRef what) {
  if (axes.empty())
    return op->emitOpError("names no axis");
  for (auto axis : axes.getAsRange<StringAttr>())
    if (failed(requireAxis(op, type, what, axis)))
      return failure();
  return success();
}

/// Refuses, unless the result of a reduction has the axes of x without those that are reduced.
static LogicalResult verifyReduced(Operation *op, ArrayAttr axes, Type x) {
  return failure(failed(verifyAxes(op, axes, x, "x")) || failed(requireWithout(op, op->getResult(0).getType(), "the result", x, "x",
                                                                               llvm::to_vector(axes.getAsRange<StringAttr>()))));
}

LogicalResult MaxFirstOp::verify() {
  return failure(failed(requireSameElement(*this, {getX().getType(), getType()})) ||
                 failed(verifyReduced(*this, getAxes(), getX().getType())));
}

LogicalResult FirstMaxOp::verify() {
  Type x = getX().getType();
  return failure(failed(requireSameElement(*this, {x, getMax().getType()})) ||
                 failed(requireSameOrder(*this, getMax().getType(), "the maximum", getType(), "the result")) ||
                 failed(verifyReduced(*this, getAxes(), x)));
}

LogicalResult AtPositionOp::verify() {
  Type x = getX().getType();
  SmallVector<StringAttr> added(
      llvm::make_filter_range(getAxes().getAsRange<StringAttr>(), [&](StringAttr axis) { return !hasAxis(x, axis); }));
  return failure(failed(verifyAxes(*this, getAxes(), getType(), "the result")) || failed(requireSameElement(*this, {x, getType()})) ||
                 failed(requireSameAxes(*this, getPosition().getType(), "the position", x, "x")) ||
                 failed(requireWithout(*this, x, "x", getType(), "the result", added)));
}

SmallVector<Value> MaxFirstOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  auto max = cast<RankedTensorType>(getType());
  Type positions = withAxes(builder.getI32Type(), axesOf(max), max.getShape());
  Value first = FirstMaxOp::create(builder, getLoc(), positions, getX(), getResult(), getAxes());
  return {AtPositionOp::create(builder, getLoc(), getX().getType(), gradients[0], first, getAxes())};
}

/// `value` where the loops are in no padding of the axes, else `other`.
static Scalar outsidePadding(Body &body, Type x, ArrayAttr axes, Scalar value, double other) {
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    if (body.isPadded(x, axis))
      value = select(body.isLogical(x, axis), value, value.like(other));
  return value;
}

/// n - 1 - i of the position at which the loops are; -1 in padding.
static Scalar placeFromEnd(Body &body, Type x, ArrayAttr axes) {
  Scalar place = body.integer(0);
  int64_t count = 1;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    int64_t size = body.globalSize(x, axis);
    place = addi(muli(place, body.integer(size)), body.globalIndex(x, axis));
    count *= size;
  }
  return outsidePadding(body, x, axes, asI32(subi(body.integer(count - 1), place)), -1);
}

LogicalResult MaxFirstOp::lower(Lowering &lowering) {
  double lowest = -std::numeric_limits<double>::infinity();
  return lowering.reduce(*this, getX(), lowest, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {maximum(in[1], outsidePadding(body, getX().getType(), getAxes(), in[0], lowest))};
  });
}

LogicalResult FirstMaxOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, {getX(), getMax()}, -1, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar rest = placeFromEnd(body, getX().getType(), getAxes());
    Scalar here = select(either(equal(in[0], in[1]), isNan(in[0])), rest, rest.like(-1));
    return {in[2].make<arith::MaxSIOp>(in[2], here)};
  });
}

LogicalResult AtPositionOp::lower(Lowering &lowering) {
  return lowering.map(*this, getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {select(equali(placeFromEnd(body, getType(), getAxes()), in[1]), in[0], in[0].like(0.0))};
  });
}
