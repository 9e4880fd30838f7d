// Table lookups and their inverses: gather, scatter_add, pick, one_hot.
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/dialects/nn/ops/Chain.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Gather.cpp.inc"

void nn::addGather(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Gather.cpp.inc"
      >(dialect);
}

// The relation that gather and scatter_add share: `rows` has the axes of `idx` and those of the table except `axis`. An axis that table and
// index share is walked once: each of its entries has a table of its own.
static LogicalResult verifyRows(Operation *op, Type table, Type idx, Type rows, StringAttr axis, bool shares) {
  if (failed(requireAxis(op, table, "the table", axis)) || failed(requireNoAxis(op, rows, "the rows", axis)) ||
      failed(requireNoAxis(op, idx, "the index", axis)) || failed(requireWithin(op, idx, "the index", rows, "the rows")))
    return failure();
  for (StringAttr name : axesOf(table))
    if (name != axis) {
      if (!shares && hasAxis(idx, name))
        return op->emitOpError() << "axis '" << name.getValue() << "' is in both the table and the index";
      if (failed(requireAxis(op, rows, "the rows", name)))
        return failure();
    }
  for (StringAttr name : axesOf(rows))
    if (!hasAxis(table, name) && !hasAxis(idx, name))
      return op->emitOpError() << "axis '" << name.getValue() << "' of the rows is in neither the table nor the index";
  return success();
}

LogicalResult GatherOp::verify() {
  return failure(failed(requireSameElement(*this, {getTable().getType(), getType()})) ||
                 failed(verifyRows(*this, getTable().getType(), getIdx().getType(), getType(), getAxisAttr(), /*shares=*/true)));
}
LogicalResult ScatterAddOp::verify() {
  Type dy = getDy().getType();
  bool widens = isNarrow(dy) && getElementTypeOrSelf(getType()) == widened(dy);
  if (isNarrow(getType()))
    return emitOpError() << "sums in f32 or wider, not in " << getElementTypeOrSelf(getType());
  return failure((!widens && failed(requireSameElement(*this, {getType(), dy}))) ||
                 failed(verifyRows(*this, getType(), getIdx().getType(), dy, getAxisAttr(), /*shares=*/false)));
}

// The looked-up axis is summed over in principle: a shard gives 0 for rows that it does not have.
SmallVector<LoopAxis> GatherOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getAxisAttr(), LoopKind::Reduce); }
SmallVector<LoopAxis> ScatterAddOp::getLoopAxes() { return defaultLoopAxes(*this); }

// Rows that no index names: indices are below the global size.
ZeroPadding ScatterAddOp::getZeroPadding(StringAttr axis) {
  return axis == getAxisAttr() ? ZeroPadding::Always : ZeroPadding::WhereOperandsAre;
}
ZeroPadding OneHotOp::getZeroPadding(StringAttr axis) { return axis == getAxisAttr() ? ZeroPadding::Always : ZeroPadding::Unknown; }

SmallVector<StringAttr> PickOp::getLoopOrder() { return llvm::to_vector(axesOf(getX().getType())); }

Value GatherOp::getIndices() { return getIdx(); }
Value GatherOp::getIndexed() { return getTable(); }
Value PickOp::getIndices() { return getIdx(); }
Value PickOp::getIndexed() { return getX(); }

SmallVector<Value> GatherOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Type table = getTable().getType(), idx = getIdx().getType();
  bool shares = llvm::any_of(axesOf(table), [&](StringAttr axis) { return hasAxis(idx, axis); });
  if (shares || dimOf(table, getAxisAttr()) != 0)
    return {ScatterMatchOp::create(builder, getLoc(), table, getIdx(), gradients[0], getAxisAttr()), Value()};
  Type sum = withElement(table, widened(table));
  Value gradient = ScatterAddOp::create(builder, getLoc(), sum, getIdx(), gradients[0], getAxisAttr());
  return {sum == table ? gradient : ConvertOp::create(builder, getLoc(), table, gradient).getResult(), Value()};
}

LogicalResult PickOp::verify() {
  if (failed(requireSameElement(*this, {getX().getType(), getType()})) ||
      failed(requireAxis(*this, getX().getType(), "x", getAxisAttr())) ||
      failed(requireWithin(*this, getIdx().getType(), "the index", getType(), "the result")))
    return failure();
  return requireWithout(*this, getType(), "the result", getX().getType(), "x", {getAxisAttr()});
}

SmallVector<Value> PickOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  auto x = llvm::cast<RankedTensorType>(getX().getType());
  SmallVector<StringAttr> names(axesOf(getIdx().getType()));
  SmallVector<int64_t> sizes(llvm::cast<RankedTensorType>(getIdx().getType()).getShape());
  names.push_back(getAxisAttr());
  sizes.push_back(sizeOf(x, getAxisAttr()));
  Value hot = OneHotOp::create(builder, getLoc(), withAxes(x.getElementType(), names, sizes), getIdx(), getAxisAttr());
  return {ChainMulOp::create(builder, getLoc(), x, hot, gradients[0]), Value()};
}

LogicalResult OneHotOp::verify() {
  return failure(failed(requireAxis(*this, getType(), "the result", getAxisAttr())) ||
                 failed(requireWithout(*this, getIdx().getType(), "the index", getType(), "the result", {getAxisAttr()})));
}

// Rows of other shards give 0: the result is then partial over the table's split.
LogicalResult GatherOp::lower(Lowering &lowering) {
  auto table = cast<RankedTensorType>(getTable().getType());
  return lowering.map(*this, getIdx(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    int64_t size = sizeOf(table, getAxisAttr());
    Scalar row = subi(extend(in[0], body.builder().getI64Type()), body.shardOffset(table, getAxisAttr()));
    SmallVector<Scalar> indices;
    for (StringAttr axis : axesOf(table))
      indices.push_back(axis == getAxisAttr() ? clampIndex(row, size) : body.index(axis));
    Scalar value = body.extract(lowering.get(getTable()), indices);
    Scalar inside = both(lessi(body.integer(-1), row), lessi(row, body.integer(size)));
    return {select(inside, value, value.like(0.0))};
  });
}

LogicalResult PickOp::lower(Lowering &lowering) {
  StringAttr axis = getAxisAttr();
  Type type = getX().getType();
  return lowering.reduce(*this, {getX(), getIdx()}, 0.0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar wanted = extend(in[1], body.builder().getI64Type());
    Value here = equali(body.globalIndex(type, axis), wanted);
    return {in[2] + select(here, in[0], in[0].like(0.0))};
  });
}

LogicalResult OneHotOp::lower(Lowering &lowering) {
  Type element = widened(getType());
  return lowering.map(*this, getIdx(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar wanted = extend(in[0], body.builder().getI64Type());
    Value here = equali(body.globalIndex(getType(), getAxisAttr()), wanted);
    return {select(here, body.constant(1.0, element), body.constant(0.0, element))};
  });
}
