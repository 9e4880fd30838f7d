// Ops that only pick, join, rename or cut axes, and the causal mask.
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Select.cpp.inc"

void nn::addSelect(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Select.cpp.inc"
      >(dialect);
}

static LogicalResult verifyPart(Operation *op, Type part, StringRef what, Type whole, StringRef where, StringAttr axis) {
  return failure(failed(requireSameElement(op, {whole, part})) || failed(requireAxis(op, whole, where, axis)) ||
                 failed(requireWithout(op, part, what, whole, where, {axis})));
}

LogicalResult SelectOp::verify() {
  if (failed(verifyPart(*this, getType(), "the result", getX().getType(), "the operand", getAxisAttr())))
    return failure();
  int64_t size = sizeOf(getX().getType(), getAxisAttr());
  if (int64_t(getIndex()) < 0 || int64_t(getIndex()) >= size)
    return emitOpError() << "index " << int64_t(getIndex()) << " is outside axis '" << getAxis() << "' of size " << size;
  return success();
}

LogicalResult StackOp::verify() {
  for (auto [number, x] : llvm::enumerate(getXs()))
    if (failed(verifyPart(*this, x.getType(), ("operand " + Twine(number)).str(), getType(), "the result", getAxisAttr())))
      return failure();
  if (failed(requireAxis(*this, getType(), "the result", getAxisAttr())))
    return failure();
  int64_t size = sizeOf(getType(), getAxisAttr());
  if (int64_t(getXs().size()) != size)
    return emitOpError() << "has " << getXs().size() << " operands but axis '" << getAxis() << "' has size " << size;
  return success();
}

SmallVector<LoopAxis> SelectOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Whole); }
SmallVector<LoopAxis> StackOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Whole); }

// A single use has a gradient that is zero elsewhere. Autodiff joins several selects of one value before it comes to this.
SmallVector<Value> SelectOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  int64_t size = sizeOf(getX().getType(), getAxisAttr());
  Value zero = size > 1 ? FillOp::create(builder, getLoc(), getType(), builder.getF64FloatAttr(0)).getResult() : Value();
  SmallVector<Value> parts(size, zero);
  parts[getIndex()] = gradients[0];
  return {joinParts(builder, getLoc(), getX().getType(), parts, getAxisAttr())};
}

Value nn::joinParts(OpBuilder &builder, Location loc, Type type, ValueRange parts, StringAttr axis) {
  auto stack = StackOp::create(builder, loc, type, parts, axis);
  stack->setAttr(gradientOfAttribute, builder.getStringAttr(SelectOp::getOperationName().split('.').second));
  return stack;
}

SmallVector<Value> StackOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  SmallVector<Value> parts;
  for (auto [index, x] : llvm::enumerate(getXs())) {
    auto part = SelectOp::create(builder, getLoc(), x.getType(), gradients[0], getAxisAttr(), builder.getI64IntegerAttr(index));
    part->setAttr(gradientOfAttribute, builder.getStringAttr(StackOp::getOperationName().split('.').second));
    parts.push_back(part);
  }
  return parts;
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  auto stack = getX().getDefiningOp<StackOp>();
  if (!stack || stack.getAxis() != getAxis())
    return {};
  Value part = stack.getXs()[getIndex()];
  return part.getType() == getType() ? OpFoldResult(part) : OpFoldResult();
}

OpFoldResult StackOp::fold(FoldAdaptor) {
  Value whole;
  for (auto [index, x] : llvm::enumerate(getXs())) {
    auto select = x.getDefiningOp<SelectOp>();
    if (!select || select.getAxis() != getAxis() || select.getIndex() != index || (whole && whole != select.getX()))
      return {};
    whole = select.getX();
  }
  return whole && whole.getType() == getType() ? OpFoldResult(whole) : OpFoldResult();
}

LogicalResult RenameOp::verify() {
  Type x = getX().getType(), y = getType();
  if (failed(requireSameElement(*this, {x, y})) || failed(requireAxis(*this, x, "the operand", getFromAttr())))
    return failure();
  if (axesOf(x).size() != axesOf(y).size())
    return emitOpError() << "the operand has " << axesOf(x).size() << " axes but the result " << axesOf(y).size();
  for (auto [before, after] : llvm::zip(axesOf(x), axesOf(y)))
    if (after != (before == getFromAttr() ? getToAttr() : before))
      return emitOpError() << "axis '" << before.getValue() << "' became '" << after.getValue() << "'";
  if (!getEnds())
    return success();
  if (!getEntriesAttr())
    return emitOpError("has ends without an axis of entries");
  for (StringAttr axis : axesOf(getEnds().getType()))
    if (axis != getEntriesAttr() && failed(requireAxis(*this, x, "the operand", axis)))
      return failure();
  return success();
}

StringAttr RenameOp::getEntriesAttr() {
  if (getEnds())
    for (StringAttr axis : axesOf(getEnds().getType()))
      if (!hasAxis(getX().getType(), axis))
        return axis;
  return {};
}

// The two names are one loop: it is known by the result's.
SmallVector<LoopAxis> RenameOp::getLoopAxes() {
  SmallVector<LoopAxis> axes;
  for (StringAttr name : axesOf(getType()))
    axes.push_back({name, LoopKind::Parallel});
  return axes;
}

StringAttr RenameOp::loopOfOperand(unsigned, StringAttr axis) { return axis == getFromAttr() ? getToAttr() : axis; }
StringAttr RenameOp::loopOfResult(unsigned, StringAttr axis) { return axis; }

OpFoldResult RenameOp::fold(FoldAdaptor) {
  auto inner = getX().getDefiningOp<RenameOp>();
  if (inner && inner.getFrom() == getTo() && inner.getTo() == getFrom() && inner.getX().getType() == getType())
    return inner.getX();
  return {};
}

SmallVector<Value> RenameOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value x = RenameOp::create(builder, getLoc(), getX().getType(), gradients[0], getToAttr(), getFromAttr(), getEnds(), getPlacesAttr(),
                             getFilledAttr());
  return getEnds() ? SmallVector<Value>{x, Value()} : SmallVector<Value>{x};
}

LogicalResult ReshapeOp::verify() {
  auto x = llvm::cast<RankedTensorType>(getX().getType());
  if (failed(requireSameElement(*this, {x, getType()})))
    return failure();
  if (x.getNumElements() != llvm::cast<RankedTensorType>(getType()).getNumElements())
    return emitOpError() << "the operand has " << x.getNumElements() << " elements but the result "
                         << llvm::cast<RankedTensorType>(getType()).getNumElements();
  return success();
}

LogicalResult CausalMaskOp::verify() {
  Type x = getX().getType();
  return failure(
      failed(requireSameElement(*this, {x, getType()})) || failed(requireSameOrder(*this, getType(), "the result", x, "the operand")) ||
      failed(requireAxis(*this, x, "the operand", getQueryAttr())) || failed(requireAxis(*this, x, "the operand", getKeyAttr())));
}
SmallVector<LoopAxis> CausalMaskOp::getLoopAxes() { return defaultLoopAxes(*this); }

LogicalResult SelectOp::lower(Lowering &lowering) {
  auto copy = [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0]}; };
  return lowering.map(*this, getX(), copy, {{getAxisAttr(), int64_t(getIndex())}});
}

LogicalResult StackOp::lower(Lowering &lowering) {
  return lowering.map(*this, getXs(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar index = body.index(getAxisAttr()), value = in[0];
    for (unsigned i = 1; i < getXs().size(); ++i)
      value = select(equali(index, body.integer(i)), in[i], value);
    return {value};
  });
}

LogicalResult CausalMaskOp::lower(Lowering &lowering) {
  return lowering.map(*this, getX(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar query = body.globalIndex(getType(), getQueryAttr()), key = body.globalIndex(getType(), getKeyAttr());
    return {select(lessi(query, key), in[0].like(-1e30), in[0])};
  });
}
