// Table lookups and their inverses: gather, scatter_add, pick, one_hot.
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

// The relation that gather and scatter_add share: rows has the axes of idx and those of the table without `axis`.
static LogicalResult verifyRows(Operation *op, Type table, Type idx, Type rows, StringAttr axis) {
  if (failed(requireAxis(op, table, "the table", axis)) || failed(requireNoAxis(op, rows, "the rows", axis)) ||
      failed(requireNoAxis(op, idx, "the index", axis)) || failed(requireWithin(op, idx, "the index", rows, "the rows")))
    return failure();
  for (StringAttr name : axesOf(table))
    if (name != axis) {
      if (hasAxis(idx, name))
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
                 failed(verifyRows(*this, getTable().getType(), getIdx().getType(), getType(), getAxisAttr())));
}
LogicalResult ScatterAddOp::verify() {
  Type dy = getDy().getType();
  bool widens = isNarrow(dy) && getElementTypeOrSelf(getType()).isF32();
  if (isNarrow(getType()))
    return emitOpError() << "sums in f32 or wider, not in " << getElementTypeOrSelf(getType());
  return failure((!widens && failed(requireSameElement(*this, {getType(), dy}))) ||
                 failed(verifyRows(*this, getType(), getIdx().getType(), dy, getAxisAttr())));
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
  Type table = getTable().getType(), sum = isNarrow(table) ? Type(withElement(table, builder.getF32Type())) : table;
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
  return {MulOp::create(builder, getLoc(), x, hot, gradients[0]), Value()};
}

LogicalResult OneHotOp::verify() {
  return failure(failed(requireAxis(*this, getType(), "the result", getAxisAttr())) ||
                 failed(requireWithout(*this, getIdx().getType(), "the index", getType(), "the result", {getAxisAttr()})));
}
