// Builders shared by gradients and checks shared by verifiers.
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

Value nn::reduceTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type ? value : SumOp::create(builder, loc, type, value).getResult();
}

Value nn::broadcastTo(OpBuilder &builder, Location loc, Value value, Type type) {
  return value.getType() == type ? value : BroadcastOp::create(builder, loc, type, value).getResult();
}

Value nn::scaled(OpBuilder &builder, Location loc, Value value, double factor) {
  return ScaleOp::create(builder, loc, value.getType(), value, builder.getF64FloatAttr(factor));
}

static StringAttr firstMissing(Type part, Type whole) {
  for (StringAttr name : axesOf(part))
    if (!hasAxis(whole, name))
      return name;
  return {};
}

bool nn::axesWithin(Type part, Type whole) { return !firstMissing(part, whole); }

LogicalResult nn::requireWithin(Operation *op, Type part, StringRef what, Type whole, StringRef where) {
  if (StringAttr name = firstMissing(part, whole))
    return op->emitOpError() << "axis '" << name.getValue() << "' of " << what << " is missing in " << where;
  return success();
}

LogicalResult nn::requireSameAxes(Operation *op, Type a, StringRef what, Type b, StringRef where) {
  return failure(failed(requireWithin(op, a, what, b, where)) || failed(requireWithin(op, b, where, a, what)));
}

SmallVector<StringAttr> nn::reducedBehind(Operation *op, StringAttr compared) {
  ArrayRef<StringAttr> axes = axesOf(op->getResult(0).getType());
  SmallVector<StringAttr> order, reduced;
  for (Type type : op->getOperandTypes())
    for (StringAttr axis : axesOf(type))
      if (!llvm::is_contained(axes, axis) && !llvm::is_contained(reduced, axis))
        reduced.push_back(axis);
  for (StringAttr axis : axes) {
    order.push_back(axis);
    if (axis == compared)
      order.append(reduced);
  }
  return order;
}

LogicalResult nn::requireExchange(Operation *op, Type a, StringRef what, StringAttr from, Type b, StringRef where, StringAttr to) {
  if (failed(requireAxis(op, a, what, from)) || failed(requireAxis(op, b, where, to)) || failed(requireNoAxis(op, b, where, from)) ||
      failed(requireNoAxis(op, a, what, to)))
    return failure();
  for (StringAttr name : axesOf(a))
    if (name != from && failed(requireAxis(op, b, where, name)))
      return failure();
  for (StringAttr name : axesOf(b))
    if (name != to && failed(requireAxis(op, a, what, name)))
      return failure();
  return success();
}

LogicalResult nn::requireSameOrder(Operation *op, Type a, StringRef what, Type b, StringRef where) {
  if (failed(requireSameAxes(op, a, what, b, where)))
    return failure();
  if (axesOf(a) != axesOf(b))
    return op->emitOpError() << "the axes of " << what << " and " << where << " must have the same order";
  return success();
}

LogicalResult nn::requireAxis(Operation *op, Type type, StringRef what, StringAttr axis) {
  if (!hasAxis(type, axis))
    return op->emitOpError() << what << " has no axis '" << axis.getValue() << "'";
  return success();
}

LogicalResult nn::requireNoAxis(Operation *op, Type type, StringRef what, StringAttr axis) {
  if (hasAxis(type, axis))
    return op->emitOpError() << what << " must not have axis '" << axis.getValue() << "'";
  return success();
}

LogicalResult nn::requireWithout(Operation *op, Type type, StringRef what, Type whole, StringRef where, ArrayRef<StringAttr> axes) {
  if (failed(requireWithin(op, type, what, whole, where)))
    return failure();
  for (StringAttr axis : axes)
    if (failed(requireNoAxis(op, type, what, axis)))
      return failure();
  for (StringAttr name : axesOf(whole))
    if (!llvm::is_contained(axes, name) && failed(requireAxis(op, type, what, name)))
      return failure();
  return success();
}

LogicalResult nn::requireSameElement(Operation *op, TypeRange types) {
  for (auto [number, type] : llvm::enumerate(types))
    if (getElementTypeOrSelf(type) != getElementTypeOrSelf(types.front()))
      return op->emitOpError() << "element type " << getElementTypeOrSelf(type) << " of tensor " << number << " differs from "
                               << getElementTypeOrSelf(types.front()) << " of the first";
  return success();
}
