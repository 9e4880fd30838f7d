// Prims that sum, maximise or contract. Padding of a split axis enters with the neutral element.
#include "compiler/codegen/lowering/Lowering.h"

using namespace mlir;

namespace npar::codegen {

namespace {
// Axes of `type` that the result lacks and whose shards hold padding: i1 "all of them are logical", or null.
Value logical(Body &body, Type type, Type result) {
  Value all;
  for (StringAttr axis : nn::axesOf(type)) {
    if (nn::hasAxis(result, axis) || !body.isPadded(type, axis))
      continue;
    Scalar inside = body.isLogical(type, axis);
    all = all ? Value(both(Scalar(body.builder(), all), inside)) : Value(inside);
  }
  return all;
}

LogicalResult lowerSum(nn::SumOp op, Lowering &lowering) {
  return lowering.reduce(op, op.getX(), 0.0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Value mask = logical(body, op.getX().getType(), op.getType());
    return {in[1] + (mask ? select(mask, in[0], in[0].like(0.0)) : in[0])};
  });
}

LogicalResult lowerMax(nn::MaxOp op, Lowering &lowering) {
  double lowest = -std::numeric_limits<double>::infinity();
  return lowering.reduce(op, op.getX(), lowest, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Value mask = logical(body, op.getX().getType(), op.getType());
    return {maximum(in[1], mask ? select(mask, in[0], in[0].like(lowest)) : in[0])};
  });
}

LogicalResult lowerIsMax(nn::IsMaxOp op, Lowering &lowering) {
  return lowering.map(op, op->getOperands(), [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {select(equal(in[0], in[1]), in[0].like(1.0), in[0].like(0.0))};
  });
}

LogicalResult lowerPick(nn::PickOp op, Lowering &lowering) {
  StringAttr axis = op.getAxisAttr();
  Type type = op.getX().getType();
  return lowering.reduce(op, {op.getX(), op.getIdx()}, 0.0, [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar wanted = extend(in[1], body.builder().getI64Type());
    Value here = equali(body.globalIndex(type, axis), wanted);
    return {in[2] + select(here, in[0], in[0].like(0.0))};
  });
}

// In float64, where no library multiplies, and where no strides fit: the sum ascends. As for the library's products, padding of reduced
// axes holds zeros (placing masks it).
LogicalResult lowerEinsum(nn::EinsumOp op, Lowering &lowering) {
  return lowering.reduce(op, op->getOperands(), 0.0,
                         [](Body &, Lowering::Scalars in) -> SmallVector<Scalar> { return {fma(in[0], in[1], in[2])}; });
}
} // namespace

void attachReductions(MLIRContext *context) {
  nn::SumOp::attachInterface<LoweredBy<nn::SumOp, lowerSum>>(*context);
  nn::MaxOp::attachInterface<LoweredBy<nn::MaxOp, lowerMax>>(*context);
  nn::IsMaxOp::attachInterface<LoweredBy<nn::IsMaxOp, lowerIsMax>>(*context);
  nn::PickOp::attachInterface<LoweredBy<nn::PickOp, lowerPick>>(*context);
  nn::EinsumOp::attachInterface<LoweredBy<nn::EinsumOp, lowerEinsum>>(*context);
}

} // namespace npar::codegen
