// nn.einsum: products of two tensors with named axes; what the result lacks is summed.
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Einsum.cpp.inc"

void nn::addEinsum(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Einsum.cpp.inc"
      >(dialect);
}

LogicalResult EinsumOp::verify() {
  bool widens = isNarrow(getA().getType()) && getElementTypeOrSelf(getType()) == widened(getA().getType());
  SmallVector<Type> alike{getA().getType(), getB().getType()};
  if (!widens)
    alike.push_back(getType());
  if (failed(requireSameElement(*this, alike)))
    return failure();
  if (getTf32() && !getElementTypeOrSelf(getA().getType()).isF32())
    return emitOpError() << "rounds operands of " << getElementTypeOrSelf(getA().getType()) << " to tf32, which are to be of 'f32'";
  for (StringAttr name : axesOf(getType()))
    if (!hasAxis(getA().getType(), name) && !hasAxis(getB().getType(), name))
      return emitOpError() << "axis '" << name.getValue() << "' of the result appears in no operand";
  return success();
}

double EinsumOp::getFlops() { return 2 * loopVolume(*this); }

// If windows are spread, as in the gradient of a convolution with a stride, most of their entries are zeros, which need no multiplication.
double EinsumOp::getProductFlops() {
  double flops = getFlops();
  for (Value operand : getOperands())
    for (auto windows = operand.getDefiningOp<WindowsOp>(); windows; windows = windows.getX().getDefiningOp<WindowsOp>())
      for (int64_t spread : windows.getSpread())
        flops /= static_cast<double>(spread);
  return flops;
}

// The last axis of the result is innermost, the sum outside of it.
SmallVector<StringAttr> EinsumOp::getLoopOrder() {
  SmallVector<StringAttr> loops(axesOf(getType())), reduced;
  for (Value operand : getOperands())
    for (StringAttr axis : axesOf(operand.getType()))
      if (!llvm::is_contained(loops, axis) && !llvm::is_contained(reduced, axis))
        reduced.push_back(axis);
  loops.insert(loops.empty() ? loops.end() : loops.end() - 1, reduced.begin(), reduced.end());
  return loops;
}

// [B,S,F] x [F,H] -> [B,S,H]: da = dy x b over h; an axis that only `a` has (summed alone) is repeated.
static Value operandGradient(OpBuilder &builder, EinsumOp op, Value dy, Value other, Type type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (StringAttr name : axesOf(type))
    if (hasAxis(dy.getType(), name) || hasAxis(other.getType(), name)) {
      names.push_back(name);
      sizes.push_back(sizeOf(type, name));
    }
  RankedTensorType present =
      names.size() == axesOf(type).size() ? llvm::cast<RankedTensorType>(type) : withAxes(getElementTypeOrSelf(type), names, sizes);
  return broadcastTo(builder, op.getLoc(), EinsumOp::create(builder, op.getLoc(), present, dy, other, op.getTf32Attr()), type);
}

SmallVector<Value> EinsumOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  Value dy = gradients[0];
  return {operandGradient(builder, *this, dy, getB(), getA().getType()), operandGradient(builder, *this, dy, getA(), getB().getType())};
}

// In float64, where no library multiplies, and where no strides fit: the sum ascends. As for the library's products, padding of reduced
// axes holds zeros (placing masks it).
LogicalResult EinsumOp::lower(Lowering &lowering) {
  return lowering.reduce(*this, getOperands(), 0.0, [rounds = getTf32()](Body &, Lowering::Scalars in) -> SmallVector<Scalar> {
    return {rounds ? fma(toTf32(in[0]), toTf32(in[1]), in[2]) : fma(in[0], in[1], in[2])};
  });
}
