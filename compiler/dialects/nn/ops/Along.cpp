// Order, running sums and parts along an axis, and the gradient of a lookup along any: verifiers, gradients, meaning.
#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Along.cpp.inc"

void nn::addAlong(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Along.cpp.inc"
      >(dialect);
}

// Rows go anywhere along `keys`.
SmallVector<LoopAxis> AppendOp::getLoopAxes() {
  return withKind(withKind(defaultLoopAxes(*this), getKeysAttr(), LoopKind::Whole), getAxisAttr(), LoopKind::Whole);
}

//===- Verifiers ---------------------------------------------------------------------------------------------------------===//

LogicalResult AppendOp::verify() {
  auto kept = llvm::cast<RankedTensorType>(getKept().getType()), rows = llvm::cast<RankedTensorType>(getRows().getType());
  SmallVector<StringAttr> names(axesOf(kept));
  llvm::replace(names, getKeysAttr(), getAxisAttr());
  if (failed(requireSameElement(*this, {kept, rows})) || failed(requireAxis(*this, kept, "what is kept", getKeysAttr())))
    return failure();
  if (kept != getType())
    return emitOpError() << "makes " << getType() << " of " << kept;
  if (ArrayRef<StringAttr>(names) != axesOf(rows))
    return emitOpError() << "needs rows with the axes of what is kept, '" << getAxis() << "' in the place of '" << getKeys() << "'";
  ArrayRef<StringAttr> positions = axesOf(getPositions().getType()), samples = positions.drop_back(positions.empty() ? 0 : 1);
  if (positions.empty() || positions.back() != getAxisAttr() || samples != ArrayRef<StringAttr>(names).take_front(samples.size()) ||
      llvm::is_contained(samples, getAxisAttr()))
    return emitOpError() << "needs positions over first axes of what is kept and '" << getAxis() << "'";
  return success();
}

LogicalResult OrderOp::verify() {
  Type x = getX().getType(), others = getOthers().getType();
  return failure(failed(requireSameElement(*this, {x, others})) || failed(requireSameOrder(*this, getType(), "the result", x, "x")) ||
                 failed(requireExchange(*this, x, "x", getAxisAttr(), others, "the others", getOtherAttr())));
}

LogicalResult FindOp::verify() {
  return requireExchange(*this, getX().getType(), "x", getAxisAttr(), getType(), "the result", getAlongAttr());
}

LogicalResult CumsumOp::verify() {
  Type x = getX().getType();
  bool forwards = hasAxis(x, getPartAttr());
  StringAttr from = forwards ? getPartAttr() : getEndAttr(), to = forwards ? getEndAttr() : getPartAttr();
  return failure(failed(requireSameElement(*this, {x, getType()})) ||
                 failed(requireExchange(*this, x, "x", from, getType(), "the result", to)));
}

LogicalResult PartOp::verify() {
  Type x = getX().getType();
  return failure(failed(requireSameElement(*this, {x, getType()})) ||
                 failed(requireExchange(*this, x, "x", getFromAttr(), getType(), "the result", getToAttr())));
}

LogicalResult ReorderOp::verify() {
  return failure(failed(requireSameElement(*this, {getX().getType(), getType()})) ||
                 failed(requireSameAxes(*this, getX().getType(), "x", getType(), "the result")));
}

LogicalResult FoldOp::verify() {
  Type cut = cuts() ? getType() : getX().getType(), flat = cuts() ? getX().getType() : getType();
  StringRef whatCut = cuts() ? "the result" : "x", whatFlat = cuts() ? "x" : "the result";
  if (failed(requireSameElement(*this, {getX().getType(), getType()})) || failed(requireAxis(*this, flat, whatFlat, getFlatAttr())) ||
      failed(requireNoAxis(*this, cut, whatCut, getFlatAttr())))
    return failure();
  for (StringAttr axis : {getMajorAttr(), getMinorAttr()})
    if (failed(requireAxis(*this, cut, whatCut, axis)) || failed(requireNoAxis(*this, flat, whatFlat, axis)))
      return failure();
  auto others = [](Type type, ArrayRef<StringAttr> own) {
    SmallVector<StringAttr> names(axesOf(type));
    llvm::erase_if(names, [&](StringAttr name) { return llvm::is_contained(own, name); });
    return names;
  };
  if (others(cut, {getMajorAttr(), getMinorAttr()}) != others(flat, {getFlatAttr()}))
    return emitOpError() << "the other axes of x and the result must be the same in the same order";
  int64_t parts = sizeOf(cut, getMajorAttr()) * sizeOf(cut, getMinorAttr()), size = sizeOf(flat, getFlatAttr());
  bool isPlaced = !llvm::isa<AxesAttr>(llvm::cast<RankedTensorType>(getType()).getEncoding());
  if (!isPlaced && parts != size)
    return emitOpError() << "axis '" << getFlat() << "' has size " << size << ", '" << getMajor() << "' by '" << getMinor() << "' "
                         << parts;
  return success();
}

LogicalResult ScatterMatchOp::verify() {
  Type dy = getDy().getType();
  if (failed(requireSameElement(*this, {dy, getType()})) || failed(requireAxis(*this, getType(), "the table", getAxisAttr())) ||
      failed(requireNoAxis(*this, dy, "dy", getAxisAttr())) || failed(requireWithin(*this, getIdx().getType(), "the index", dy, "dy")))
    return failure();
  for (StringAttr name : axesOf(getType()))
    if (name != getAxisAttr() && failed(requireAxis(*this, dy, "dy", name)))
      return failure();
  return success();
}

//===- Loops and padding -------------------------------------------------------------------------------------------------===//

SmallVector<StringAttr> OrderOp::getLoopOrder() { return reducedBehind(*this, getAxisAttr()); }
SmallVector<StringAttr> FindOp::getLoopOrder() { return reducedBehind(*this, getAlongAttr()); }
SmallVector<StringAttr> CumsumOp::getLoopOrder() {
  return reducedBehind(*this, hasAxis(getType(), getEndAttr()) ? getEndAttr() : getPartAttr());
}
SmallVector<StringAttr> ScatterMatchOp::getLoopOrder() { return reducedBehind(*this, getAxisAttr()); }

SmallVector<LoopAxis> PartOp::getLoopAxes() { return withKind(defaultLoopAxes(*this), getFromAttr(), LoopKind::Whole); }

SmallVector<LoopAxis> FoldOp::getLoopAxes() {
  SmallVector<LoopAxis> loops = defaultLoopAxes(*this);
  if (cuts())
    return withKind(std::move(loops), getFlatAttr(), LoopKind::Whole);
  return withKind(withKind(std::move(loops), getMajorAttr(), LoopKind::Whole), getMinorAttr(), LoopKind::Whole);
}

// Rows that no index names: indices are below the global size.
ZeroPadding ScatterMatchOp::getZeroPadding(StringAttr axis) {
  return axis == getAxisAttr() ? ZeroPadding::Always : ZeroPadding::WhereOperandsAre;
}

//===- Gradients ---------------------------------------------------------------------------------------------------------===//

SmallVector<Value> CumsumOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {CumsumOp::create(builder, getLoc(), getX().getType(), gradients[0], getPartAttr(), getEndAttr())};
}

SmallVector<Value> PartOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  auto dy = cast<RankedTensorType>(gradients[0].getType());
  auto whole = builder.getStringAttr(getTo() + ".whole");
  SmallVector<StringAttr> names(axesOf(dy));
  llvm::replace(names, getToAttr(), whole);
  Value renamed =
      RenameOp::create(builder, getLoc(), withAxes(dy.getElementType(), names, dy.getShape()), gradients[0], getToAttr(), whole);
  return {PartOp::create(builder, getLoc(), getX().getType(), renamed, whole, getFromAttr(),
                         builder.getI64IntegerAttr(-static_cast<int64_t>(getOffset())))};
}

SmallVector<Value> ReorderOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  return {ReorderOp::create(builder, getLoc(), getX().getType(), gradients[0])};
}

SmallVector<Value> FoldOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  auto dy = cast<RankedTensorType>(gradients[0].getType());
  auto wholeOf = [&](StringAttr axis) { return builder.getStringAttr(axis.getValue() + ".whole"); };
  Value whole = gradients[0];
  SmallVector<StringAttr> names(axesOf(dy)),
      own = cuts() ? SmallVector<StringAttr>{getMajorAttr(), getMinorAttr()} : SmallVector<StringAttr>{getFlatAttr()};
  for (StringAttr axis : own) {
    llvm::replace(names, axis, wholeOf(axis));
    whole = RenameOp::create(builder, getLoc(), withAxes(dy.getElementType(), names, dy.getShape()), whole, axis, wholeOf(axis));
  }
  // The gradient also needs the axes of its result under names that no rule splits.
  StringAttr flat = cuts() ? getFlatAttr() : wholeOf(getFlatAttr()), major = cuts() ? wholeOf(getMajorAttr()) : getMajorAttr(),
             minor = cuts() ? wholeOf(getMinorAttr()) : getMinorAttr();
  return {FoldOp::create(builder, getLoc(), getX().getType(), whole, flat, major, minor)};
}

//===- Meaning -----------------------------------------------------------------------------------------------------------===//

/// Returns whether the other is above this one, and whether they are equal. NaN is above every number and equal to itself.
static std::pair<Scalar, Scalar> compareFloats(Scalar own, Scalar other) {
  Scalar ownIsNan = isNan(own), otherIsNan = isNan(other);
  Scalar number = ownIsNan.make<arith::XOrIOp>(ownIsNan, ownIsNan.like(1));
  return {either(greater(other, own), both(otherIsNan, number)), either(equal(other, own), both(otherIsNan, ownIsNan))};
}

LogicalResult OrderOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, {getX(), getOthers()}, 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    auto [above, same] = isa<FloatType>(in[0].type()) ? compareFloats(in[0], in[1]) : std::pair(lessi(in[0], in[1]), equali(in[0], in[1]));
    Scalar earlier = lessi(body.globalIndex(getOthers().getType(), getOtherAttr()), body.globalIndex(getX().getType(), getAxisAttr()));
    return {addi(in[2], isTrue(either(above, both(same, earlier))))};
  });
}

LogicalResult FindOp::lower(Lowering &lowering) {
  Type x = getX().getType();
  return lowering.reduce(*this, getX(), 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar found = equali(in[0], asI32(body.globalIndex(getType(), getAlongAttr())));
    if (body.isPadded(x, getAxisAttr()))
      found = both(found, body.isLogical(x, getAxisAttr()));
    Scalar index = asI32(body.globalIndex(x, getAxisAttr()));
    return {addi(in[1], select(found, index, index.like(0)))};
  });
}

LogicalResult CumsumOp::lower(Lowering &lowering) {
  Type x = getX().getType();
  bool forwards = hasAxis(x, getPartAttr());
  return lowering.reduce(*this, getX(), 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar part = body.globalIndex(forwards ? x : Type(getType()), getPartAttr());
    Scalar end = body.globalIndex(forwards ? Type(getType()) : x, getEndAttr());
    Scalar added = select(lessi(end, part), in[0].like(0), in[0]);
    return {isa<FloatType>(added.type()) ? in[1] + added : addi(in[1], added)};
  });
}

LogicalResult PartOp::lower(Lowering &lowering) {
  auto x = cast<RankedTensorType>(getX().getType());
  int64_t size = sizeOf(x, getFromAttr());
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar index = addi(body.globalIndex(getType(), getToAttr()), body.integer(static_cast<int64_t>(getOffset())));
    SmallVector<Scalar> indices;
    for (StringAttr axis : axesOf(x))
      indices.push_back(axis == getFromAttr() ? clampIndex(index, size) : body.index(axis));
    Scalar value = body.extract(lowering.get(getX()), indices);
    Scalar inside = both(lessi(body.integer(-1), index), lessi(index, body.integer(size)));
    return {select(inside, value, value.like(0))};
  });
}

LogicalResult ReorderOp::lower(Lowering &lowering) { return lowerUnary<same>(*this, lowering); }

LogicalResult FoldOp::lower(Lowering &lowering) {
  auto x = cast<RankedTensorType>(getX().getType());
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    llvm::SmallDenseMap<StringAttr, Scalar> own;
    Scalar inside;
    if (cuts()) {
      Scalar minor = body.globalIndex(getType(), getMinorAttr()), sizeOfMinor = body.integer(body.globalSize(getType(), getMinorAttr()));
      int64_t size = sizeOf(x, getFlatAttr());
      Scalar index = addi(muli(body.globalIndex(getType(), getMajorAttr()), sizeOfMinor), minor);
      inside = both(lessi(minor, sizeOfMinor), lessi(index, body.integer(size)));
      own[getFlatAttr()] = clampIndex(index, size);
    } else {
      int64_t majors = sizeOf(x, getMajorAttr()), minors = sizeOf(x, getMinorAttr());
      Scalar index = body.globalIndex(getType(), getFlatAttr()), width = body.integer(minors);
      Scalar major = index.make<arith::DivUIOp>(index, width);
      inside = lessi(index, body.integer(majors * minors));
      own[getMajorAttr()] = clampIndex(major, majors);
      own[getMinorAttr()] = subi(index, muli(major, width));
    }
    SmallVector<Scalar> indices;
    for (StringAttr axis : axesOf(x)) {
      auto found = own.find(axis);
      indices.push_back(found == own.end() ? body.index(axis) : found->second);
    }
    Scalar value = body.extract(lowering.get(getX()), indices);
    return {select(inside, value, value.like(0))};
  });
}

LogicalResult ScatterMatchOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, {getIdx(), getDy()}, 0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar wanted = extend(in[0], body.builder().getI64Type());
    Scalar here = equali(body.globalIndex(getType(), getAxisAttr()), wanted);
    return {in[2] + select(here, in[1], in[1].like(0))};
  });
}
