// Routed rows: dispatch and collect, each the other's gradient, and grouped products with their gradients.
#include "compiler/dialects/nn/ops/Experts.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Experts.cpp.inc"

void nn::addExperts(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Experts.cpp.inc"
      >(dialect);
}

//===- Dispatch and collect ----------------------------------------------------------------------------------------------===//

/// The axis of `place` besides the position and those that `source` has, too.
static StringAttr slotOf(Type place, Type source, StringAttr seq) {
  for (StringAttr axis : axesOf(place))
    if (axis != seq && !hasAxis(source, axis))
      return axis;
  return {};
}

StringAttr DispatchOp::getSlot() { return slotOf(getPlace().getType(), getSource().getType(), getSeqAttr()); }
StringAttr CollectOp::getSlot() { return slotOf(getPlace().getType(), getSource().getType(), getSeqAttr()); }

/// The relation that dispatch and collect share: `rows` has the axes of `positions` with `row` in the place of `seq`.
template <typename Op> static LogicalResult verifyRouting(Op op, Type positions, Type rows) {
  StringAttr seq = op.getSeqAttr(), row = op.getRowAttr();
  Type source = op.getSource().getType(), place = op.getPlace().getType();
  if (failed(requireSameElement(op, {positions, rows})) || failed(requireAxis(op, positions, "the tensor of positions", seq)) ||
      failed(requireAxis(op, rows, "the tensor of rows", row)) || failed(requireAxis(op, source, "the source", row)) ||
      failed(requireAxis(op, place, "the place", seq)) || failed(requireWithin(op, source, "the source", rows, "the tensor of rows")))
    return failure();
  SmallVector<StringAttr> expected(axesOf(positions));
  llvm::replace(expected, seq, row);
  if (ArrayRef<StringAttr>(expected) != axesOf(rows))
    return op.emitOpError() << "needs rows with the axes of the positions, '" << row.getValue() << "' in the place of '" << seq.getValue()
                            << "'";
  size_t shared = axesOf(source).size() - 1, slots = op.getSlot() ? 1 : 0;
  for (StringAttr axis : axesOf(source))
    if (axis != row && failed(requireAxis(op, place, "the place", axis)))
      return failure();
  if (axesOf(place).size() != shared + 1 + slots)
    return op.emitOpError() << "has a place with more than one axis of choices";
  return success();
}

LogicalResult DispatchOp::verify() { return verifyRouting(*this, getX().getType(), getType()); }
LogicalResult CollectOp::verify() { return verifyRouting(*this, getType(), getRows().getType()); }

// Rows come from anywhere along the positions, and go anywhere.
SmallVector<LoopAxis> DispatchOp::getLoopAxes() {
  SmallVector<LoopAxis> loops = withKind(defaultLoopAxes(*this), getSeqAttr(), LoopKind::Whole);
  return getSlot() ? withKind(std::move(loops), getSlot(), LoopKind::Whole) : loops;
}
// A rank that has some of the rows that are spread sums these.
SmallVector<LoopAxis> CollectOp::getLoopAxes() {
  return withKind(defaultLoopAxes(*this), getRowAttr(), entriesOfRows(getRowAttr()) ? LoopKind::Reduce : LoopKind::Whole);
}

// The features are innermost, the choices of a position right outside of them.
SmallVector<StringAttr> CollectOp::getLoopOrder() {
  SmallVector<StringAttr> order;
  for (StringAttr axis : axesOf(getType())) {
    order.push_back(axis);
    if (axis == getSeqAttr() && getSlot())
      order.push_back(getSlot());
  }
  return order;
}

SmallVector<Value> DispatchOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {CollectOp::create(builder, getLoc(), getX().getType(), gradients[0], getSource(), getPlace(), getSeqAttr(), getRowAttr()),
          Value(), Value()};
}

SmallVector<Value> CollectOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {DispatchOp::create(builder, getLoc(), getRows().getType(), gradients[0], getSource(), getPlace(), getSeqAttr(), getRowAttr()),
          Value(), Value()};
}

/// The entry of a tensor at number / `each` along `axis` and at the loops' indices along its other axes; 0 where the number is negative, or
/// that of an entry of another rank.
static Scalar entryOrZero(Lowering &lowering, Body &body, Value tensor, StringAttr axis, Scalar number, int64_t each) {
  Type type = tensor.getType();
  int64_t size = sizeOf(type, axis) * each;
  number = extend(number, body.builder().getI64Type());
  bool isSpread = entriesOfRows(axis) != nullptr;
  if (isSpread)
    number = subi(number, body.shardOffset(type, axis));
  Scalar index = clampIndex(number, size);
  if (each > 1)
    index = index.make<arith::DivUIOp>(index, body.integer(each));
  SmallVector<Scalar> indices;
  for (StringAttr name : axesOf(type))
    indices.push_back(name == axis ? index : body.index(name));
  Scalar value = body.extract(lowering.get(tensor), indices);
  Scalar inside = lessi(body.integer(-1), number);
  if (isSpread)
    inside = both(inside, lessi(number, body.integer(size)));
  return select(inside, value, value.like(0));
}

LogicalResult DispatchOp::lower(Lowering &lowering) {
  int64_t slots = getSlot() ? sizeOf(getPlace().getType(), getSlot()) : 1;
  return lowering.map(*this, getSource(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {entryOrZero(lowering, body, getX(), getSeqAttr(), in[0], slots)};
  });
}

LogicalResult CollectOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, getPlace(), 0.0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {in[1] + entryOrZero(lowering, body, getRows(), getRowAttr(), in[0], 1)};
  });
}

//===- Grouped products --------------------------------------------------------------------------------------------------===//

/// Checks the ranges of rows, which have the axes of the samples and that of the groups, and the types of elements.
template <typename Op> static LogicalResult verifyGroups(Op op, Value rows, Value other) {
  Type first = op.getFirst().getType();
  bool widens = isNarrow(rows.getType()) && getElementTypeOrSelf(op.getType()) == widened(rows.getType());
  SmallVector<Type> alike{rows.getType(), other.getType()};
  if (!widens)
    alike.push_back(op.getType());
  if (failed(requireSameElement(op, alike)) || failed(requireAxis(op, rows.getType(), "the tensor of rows", op.getRowAttr())) ||
      failed(requireNoAxis(op, rows.getType(), "the tensor of rows", op.getAxisAttr())) ||
      failed(requireAxis(op, first, "the first row", op.getAxisAttr())) ||
      failed(requireSameOrder(op, first, "the first row", op.getLast().getType(), "the last row")))
    return failure();
  for (StringAttr axis : axesOf(first))
    if (axis != op.getAxisAttr() && failed(requireAxis(op, rows.getType(), "the tensor of rows", axis)))
      return failure();
  return success();
}

LogicalResult GroupedOp::verify() {
  Type rows = getRows().getType(), weights = getWeights().getType(), first = getFirst().getType();
  if (failed(verifyGroups(*this, getRows(), getWeights())) || failed(requireAxis(*this, weights, "the weights", getAxisAttr())) ||
      failed(requireAxis(*this, getType(), "the result", getRowAttr())) ||
      failed(requireNoAxis(*this, getType(), "the result", getAxisAttr())))
    return failure();
  for (StringAttr axis : axesOf(rows)) {
    bool isOfRow = axis == getRowAttr() || hasAxis(first, axis);
    if (isOfRow ? !hasAxis(getType(), axis) || hasAxis(weights, axis) : hasAxis(getType(), axis) || !hasAxis(weights, axis))
      return emitOpError() << "axis '" << axis.getValue() << "' of the rows must be one of the samples, or contracted with the weights";
  }
  for (StringAttr axis : axesOf(getType()))
    if (!hasAxis(rows, axis) && !hasAxis(weights, axis))
      return emitOpError() << "axis '" << axis.getValue() << "' of the result appears in no operand";
  return success();
}

LogicalResult GroupedWeightsOp::verify() {
  Type a = getA().getType(), b = getB().getType(), first = getFirst().getType();
  if (failed(verifyGroups(*this, getA(), getB())) || failed(requireAxis(*this, getType(), "the result", getAxisAttr())) ||
      failed(requireNoAxis(*this, getType(), "the result", getRowAttr())))
    return failure();
  for (Type type : {a, b})
    for (StringAttr axis : axesOf(type)) {
      bool isOfRow = axis == getRowAttr() || hasAxis(first, axis);
      if (isOfRow ? !hasAxis(a, axis) || !hasAxis(b, axis) : !hasAxis(getType(), axis) || (hasAxis(a, axis) && hasAxis(b, axis)))
        return emitOpError() << "axis '" << axis.getValue() << "' must be one of the samples and summed, or of one operand and the result";
    }
  return success();
}

/// Without pieces a rank that has some of the groups makes their rows, and zeros elsewhere. With pieces rows and groups are one loop.
template <typename Op> static SmallVector<LoopAxis> loopsOfGroups(Op op) {
  SmallVector<LoopAxis> loops = withKind(defaultLoopAxes(op), op.getRowAttr(), LoopKind::Whole);
  if (op.getPieces() == 1)
    return loops;
  llvm::erase_if(loops, [&](const LoopAxis &loop) { return loop.name == op.getRowAttr(); });
  return withKind(std::move(loops), op.getAxisAttr(), LoopKind::Parallel);
}
template <typename Op> static StringAttr loopOfGroups(Op op, StringAttr axis) {
  return op.getPieces() > 1 && axis == op.getRowAttr() ? op.getAxisAttr() : axis;
}

SmallVector<LoopAxis> GroupedOp::getLoopAxes() { return loopsOfGroups(*this); }
StringAttr GroupedOp::loopOfOperand(unsigned, StringAttr axis) { return loopOfGroups(*this, axis); }
StringAttr GroupedOp::loopOfResult(unsigned, StringAttr axis) { return loopOfGroups(*this, axis); }
SmallVector<LoopAxis> GroupedWeightsOp::getLoopAxes() { return loopsOfGroups(*this); }
StringAttr GroupedWeightsOp::loopOfOperand(unsigned, StringAttr axis) { return loopOfGroups(*this, axis); }
StringAttr GroupedWeightsOp::loopOfResult(unsigned, StringAttr axis) { return loopOfGroups(*this, axis); }

// Each row that belongs to a group meets that group alone.
template <typename Op> static double flopsOfGroups(Op op) {
  return 2 * loopVolume(op) / double(sizeOf(op.getFirst().getType(), op.getAxisAttr())) * op.getFilled().convertToDouble();
}
double GroupedOp::getFlops() { return flopsOfGroups(*this); }
double GroupedWeightsOp::getFlops() { return flopsOfGroups(*this); }
double GroupedOp::getProductFlops() { return getFlops(); }
double GroupedWeightsOp::getProductFlops() { return getFlops(); }

// [B,R,K] x [E,K,N] -> [B,R,N]: the rows' gradient is the same product over N.
SmallVector<Value> GroupedOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value dy = gradients[0];
  Type weights = getWeights().getType();
  Value rows = GroupedOp::create(builder, getLoc(), getRows().getType(), dy, getWeights(), getFirst(), getLast(), getAxisAttr(),
                                 getRowAttr(), getTf32Attr(), getPiecesAttr(), getFilledAttr(), getOffsetAttr());
  RankedTensorType sum = withElement(weights, widened(weights));
  auto matrices = GroupedWeightsOp::create(builder, getLoc(), sum, getRows(), dy, getFirst(), getLast(), getAxisAttr(), getRowAttr(),
                                           getTf32Attr(), getPiecesAttr(), getFilledAttr(), getOffsetAttr());
  Operation *gradient = matrices;
  if (sum != weights)
    gradient = ConvertOp::create(builder, getLoc(), weights, matrices);
  for (Operation *op : {matrices.getOperation(), gradient})
    op->setAttr(gradientOfAttribute, builder.getStringAttr(getOperationName().split('.').second));
  return {rows, gradient->getResult(0), Value(), Value()};
}
