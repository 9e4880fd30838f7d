// Scalar formulas of the dist ops that do not communicate: slices and padding masks.
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/base/Meaning.h"

using namespace mlir;

namespace npar::dist {

using namespace nn;

// Reads consecutive elements of the row-major operand as if it had one dimension; lanes beyond its end are 0.
static LogicalResult lowerFlatSlice(SliceOp op, Lowering &lowering) {
  Type result = op.getResult().getType();
  Value whole = lowering.flattened(op.getInput());
  return lowering.map(op, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    StringAttr axis = axesOf(result).front();
    return {body.extract(whole, {addi(body.index(axis), body.shardOffset(result, axis))})};
  });
}

// Reads this rank's shard of a whole dimension; elements beyond the logical end are 0.
LogicalResult SliceOp::lower(Lowering &lowering) {
  Type input = getInput().getType(), result = getResult().getType();
  if (layoutOf(result).isFlat() && !layoutOf(input).isFlat())
    return lowerFlatSlice(*this, lowering);
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    SmallVector<Scalar> indices;
    Scalar inside;
    for (StringAttr axis : axesOf(input)) {
      Scalar index = body.index(axis);
      if (axis.getValue() == getDim()) {
        // The minor splits that the result has and the operand lacks.
        int64_t size = sizeOf(input, axis);
        index = subi(addi(index, body.shardOffset(result, axis)), body.shardOffset(input, axis));
        if (body.isPadded(result, axis)) {
          inside = lessi(index, body.integer(size));
          if (axis != axesOf(input).back())
            index = clampIndex(index, size);
        }
      }
      indices.push_back(index);
    }
    Scalar value = body.extract(lowering.get(getInput()), indices);
    return {Value(inside) ? select(inside, value, value.like(0.0)) : value};
  });
}

LogicalResult MaskPaddingOp::lower(Lowering &lowering) {
  return lowering.map(*this, getInput(), [&](Body &body, Lowering::Scalars in) -> SmallVector<Scalar> {
    Scalar value = in[0];
    for (StringAttr axis : stringsOf(getDims()))
      if (body.isPadded(getType(), axis))
        value = select(body.isLogical(getType(), axis), value, value.like(0.0));
    return {value};
  });
}

} // namespace npar::dist
