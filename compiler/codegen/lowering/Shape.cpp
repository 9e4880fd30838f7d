// Prims that index: gather, select, stack, masks, one-hot, index, slices and padding. nn.scatter_add has a loop nest of its own
// (loops/ScatterAdd.cpp).
#include "compiler/codegen/lowering/Lowering.h"

using namespace mlir;

namespace npar::codegen {

namespace {
Scalar clampIndex(Scalar index, int64_t size) {
  Scalar low = index.make<arith::MaxSIOp>(index, index.like(0));
  return low.make<arith::MinSIOp>(low, low.like(double(size - 1)));
}

// Rows of other shards give 0: the result is then partial over the table's split.
LogicalResult lowerGather(nn::GatherOp op, Lowering &lowering) {
  auto table = cast<RankedTensorType>(op.getTable().getType());
  return lowering.map(op, op.getIdx(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    int64_t size = nn::sizeOf(table, op.getAxisAttr());
    Scalar row = subi(extend(in[0], body.builder().getI64Type()), body.shardOffset(table, op.getAxisAttr()));
    SmallVector<Scalar> indices;
    for (StringAttr axis : nn::axesOf(table))
      indices.push_back(axis == op.getAxisAttr() ? clampIndex(row, size) : body.index(axis));
    Scalar value = body.extract(lowering.get(op.getTable()), indices);
    Scalar inside = both(lessi(body.integer(-1), row), lessi(row, body.integer(size)));
    return {select(inside, value, value.like(0.0))};
  });
}

LogicalResult lowerSelect(nn::SelectOp op, Lowering &lowering) {
  auto copy = [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {in[0]}; };
  return lowering.map(op, op.getX(), copy, {{op.getAxisAttr(), int64_t(op.getIndex())}});
}

LogicalResult lowerStack(nn::StackOp op, Lowering &lowering) {
  return lowering.map(op, op.getXs(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar index = body.index(op.getAxisAttr()), value = in[0];
    for (unsigned i = 1; i < op.getXs().size(); ++i)
      value = select(equali(index, body.integer(i)), in[i], value);
    return {value};
  });
}

// Position of a key in the block that came `step` places round the ring, in the sequence of the queries.
Scalar blockIndex(nn::CausalMaskOp op, Body &body) {
  dist::LayoutAttr layout = dist::layoutOf(op.getType());
  int64_t global = layout.getSizes()[layout.dimOf(op.getQueryAttr())], size = nn::sizeOf(op.getType(), op.getKeyAttr());
  Scalar own = body.member(dist::stringsOf(*op.getRing()));
  Scalar source = subi(own, body.integer(op.getStep()));
  source = select(lessi(source, body.integer(0)), addi(source, body.integer(global / size)), source);
  return body.indexInPiece(op.getKeyAttr(), source, size, op.getQueryAttr(), global);
}

LogicalResult lowerChoose(dist::ChooseOp op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar later = lessi(body.member(dist::stringsOf(op.getAxes())), body.integer(op.getStep()));
    return {select(later, in[1], in[0])};
  });
}

LogicalResult lowerCausalMask(nn::CausalMaskOp op, Lowering &lowering) {
  return lowering.map(op, op.getX(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar query = body.globalIndex(op.getType(), op.getQueryAttr());
    Scalar key = op.getRing() ? blockIndex(op, body) : body.globalIndex(op.getType(), op.getKeyAttr());
    return {select(lessi(query, key), in[0].like(-1e30), in[0])};
  });
}

LogicalResult lowerOneHot(nn::OneHotOp op, Lowering &lowering) {
  Type element = computeType(op.getType());
  return lowering.map(op, op.getIdx(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar wanted = extend(in[0], body.builder().getI64Type());
    Value here = equali(body.globalIndex(op.getType(), op.getAxisAttr()), wanted);
    return {select(here, body.constant(1.0, element), body.constant(0.0, element))};
  });
}

LogicalResult lowerKeepValid(nn::KeepValidOp op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar target = extend(in[1], body.builder().getI64Type());
    return {select(equali(target, body.integer(static_cast<int64_t>(op.getIgnore()))), in[0].like(0.0), in[0])};
  });
}

LogicalResult lowerIndex(nn::IndexOp op, Lowering &lowering) {
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar index = body.globalIndex(op.getType(), nn::axesOf(op.getType())[0]);
    return {index.make<arith::TruncIOp>(body.builder().getI32Type(), index)};
  });
}

// Consecutive elements of the row-major operand, which is seen as one dimension; lanes beyond its end are 0.
LogicalResult lowerFlatSlice(dist::SliceOp op, Lowering &lowering) {
  Type result = op.getResult().getType();
  Value whole = lowering.flattened(op.getInput());
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    StringAttr axis = nn::axesOf(result).front();
    return {body.extract(whole, {addi(body.index(axis), body.shardOffset(result, axis))})};
  });
}

LogicalResult lowerSinusoid(nn::SinusoidOp op, Lowering &lowering) {
  return lowering.map(op, op.getPositions(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Type f32 = body.builder().getF32Type(), f64 = body.builder().getF64Type();
    auto rounded = [&](Scalar x) { return convert(convert(x, f32), f64); };
    dist::LayoutAttr layout = dist::layoutOf(op.getType());
    int64_t size = layout ? layout.getSizes()[layout.dimOf(op.getAxisAttr())] : nn::sizeOf(op.getType(), op.getAxisAttr());
    Scalar exponent = rounded(toFloat(body.globalIndex(op.getType(), op.getAxisAttr()), f64) / double(size));
    Scalar frequency = rounded(1.0 / rounded(pow(exponent.like(op.getBase().convertToDouble()), exponent)));
    Scalar angle = toFloat(in[0], f64) * frequency;
    return {convert(op.getWave() == "cos" ? cos(angle) : sin(angle), getElementTypeOrSelf(op.getType()))};
  });
}

// This rank's shard of a whole dimension; what lies beyond the logical end is 0.
LogicalResult lowerSlice(dist::SliceOp op, Lowering &lowering) {
  Type input = op.getInput().getType(), result = op.getResult().getType();
  if (dist::layoutOf(result).isFlat() && !dist::layoutOf(input).isFlat())
    return lowerFlatSlice(op, lowering);
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    SmallVector<Scalar> indices;
    Scalar inside;
    for (StringAttr axis : nn::axesOf(input)) {
      Scalar index = body.index(axis);
      if (axis.getValue() == op.getDim()) {
        // The minor splits that the result has and the operand lacks.
        int64_t size = nn::sizeOf(input, axis);
        index = subi(addi(index, body.shardOffset(result, axis)), body.shardOffset(input, axis));
        if (body.isPadded(result, axis)) {
          inside = lessi(index, body.integer(size));
          if (axis != nn::axesOf(input).back())
            index = clampIndex(index, size);
        }
      }
      indices.push_back(index);
    }
    Scalar value = body.extract(lowering.get(op.getInput()), indices);
    return {Value(inside) ? select(inside, value, value.like(0.0)) : value};
  });
}

LogicalResult lowerMaskPadding(dist::MaskPaddingOp op, Lowering &lowering) {
  return lowering.map(op, op.getInput(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar value = in[0];
    for (StringAttr axis : dist::stringsOf(op.getDims()))
      if (body.isPadded(op.getType(), axis))
        value = select(body.isLogical(op.getType(), axis), value, value.like(0.0));
    return {value};
  });
}
} // namespace

void attachShape(MLIRContext *context) {
  nn::GatherOp::attachInterface<LoweredBy<nn::GatherOp, lowerGather>>(*context);
  nn::SelectOp::attachInterface<LoweredBy<nn::SelectOp, lowerSelect>>(*context);
  nn::StackOp::attachInterface<LoweredBy<nn::StackOp, lowerStack>>(*context);
  nn::CausalMaskOp::attachInterface<LoweredBy<nn::CausalMaskOp, lowerCausalMask>>(*context);
  nn::OneHotOp::attachInterface<LoweredBy<nn::OneHotOp, lowerOneHot>>(*context);
  nn::KeepValidOp::attachInterface<LoweredBy<nn::KeepValidOp, lowerKeepValid>>(*context);
  nn::IndexOp::attachInterface<LoweredBy<nn::IndexOp, lowerIndex>>(*context);
  dist::ChooseOp::attachInterface<LoweredBy<dist::ChooseOp, lowerChoose>>(*context);
  nn::SinusoidOp::attachInterface<LoweredBy<nn::SinusoidOp, lowerSinusoid>>(*context);
  dist::SliceOp::attachInterface<LoweredBy<dist::SliceOp, lowerSlice>>(*context);
  dist::MaskPaddingOp::attachInterface<LoweredBy<dist::MaskPaddingOp, lowerMaskPadding>>(*context);
}

} // namespace npar::codegen
