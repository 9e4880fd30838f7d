// nn.windows: verifier, gradient, loops and meaning.
#include "compiler/dialects/nn/ops/Windows.h"
#include "compiler/dialects/nn/base/Meaning.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "compiler/dialects/nn/ops/Largest.h"

using namespace mlir;
using namespace npar;
using namespace npar::nn;

#define GET_OP_CLASSES
#include "compiler/dialects/nn/ops/Windows.cpp.inc"

void nn::addWindows(NnDialect &dialect) {
  addOps<
#define GET_OP_LIST
#include "compiler/dialects/nn/ops/Windows.cpp.inc"
      >(dialect);
}

LogicalResult WindowsOp::verify() {
  Type x = getX().getType();
  size_t count = getOver().size();
  if (count == 0)
    return emitOpError("walks no axis");
  if (getTo().size() != count || getBy().size() != count || getStride().size() != count || getDilation().size() != count ||
      getBefore().size() != count || getSpread().size() != count)
    return emitOpError() << "needs " << count << " of each attribute, one for each axis of `over`";
  if (failed(requireSameElement(*this, {x, getType()})))
    return failure();
  SmallVector<StringAttr> expected(axesOf(x));
  for (unsigned i = 0; i < count; ++i) {
    if (failed(requireAxis(*this, x, "x", overAt(i))) || failed(requireNoAxis(*this, x, "x", toAt(i))))
      return failure();
    if (getStride()[i] < 1 || getSpread()[i] < 1)
      return emitOpError() << "has the stride " << getStride()[i] << " and the spread " << getSpread()[i] << ", the least is 1";
    if (getDilation()[i] == 0)
      return emitOpError("has the dilation 0");
    llvm::erase(expected, overAt(i));
    expected.push_back(toAt(i));
    if (!hasAxis(x, byAt(i)))
      expected.push_back(byAt(i));
  }
  if (expected.size() != axesOf(getType()).size())
    return emitOpError() << "the result has " << axesOf(getType()).size() << " axes, x with its windows " << expected.size();
  for (StringAttr axis : expected)
    if (failed(requireAxis(*this, getType(), "the result", axis)))
      return failure();
  return success();
}

//===- Loops and padding -------------------------------------------------------------------------------------------------===//

SmallVector<LoopAxis> WindowsOp::getLoopAxes() {
  SmallVector<LoopAxis> loops;
  for (StringAttr axis : axesOf(getType()))
    loops.push_back({axis, llvm::is_contained(getBy(), axis) ? LoopKind::Window : LoopKind::Parallel});
  for (unsigned i = 0; i < getOver().size(); ++i)
    loops.push_back({loopOfOperand(0, overAt(i)), LoopKind::Whole});
  return loops;
}

StringAttr WindowsOp::loopOfOperand(unsigned, StringAttr axis) {
  return llvm::is_contained(getOver(), axis) ? StringAttr::get(getContext(), axis.getValue() + ".whole") : axis;
}

StringAttr WindowsOp::loopOfResult(unsigned, StringAttr axis) { return axis; }

ZeroPadding WindowsOp::getZeroPadding(StringAttr axis) {
  return isLinear() && !llvm::is_contained(getTo(), axis) ? ZeroPadding::WhereOperandsAre : ZeroPadding::Unknown;
}

//===- Gradients ---------------------------------------------------------------------------------------------------------===//

/// The windows of `gradient` from the positions of `op` back to those of its operand.
static WindowsOp adjoint(OpBuilder &builder, WindowsOp op, Value gradient) {
  Type x = op.getX().getType(), from = gradient.getType();
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes, dilation, before;
  auto add = [&](StringAttr axis, Type type) {
    names.push_back(axis);
    sizes.push_back(sizeOf(type, axis));
  };
  // The order is that of x, so that the axes further in stay contiguous.
  for (StringAttr axis : axesOf(x))
    if (auto place = llvm::find(op.getOver(), axis); place != op.getOver().end()) {
      add(op.byAt(place - op.getOver().begin()), op.getType());
      add(axis, x);
    } else if (hasAxis(from, axis) && !llvm::is_contained(op.getBy(), axis)) {
      add(axis, x);
    }
  for (StringAttr axis : axesOf(from))
    if (!llvm::is_contained(op.getTo(), axis) && !llvm::is_contained(names, axis))
      add(axis, from);
  for (unsigned i = 0; i < op.getOver().size(); ++i) {
    dilation.push_back(-op.getDilation()[i]);
    before.push_back(-op.getBefore()[i]);
  }
  return WindowsOp::create(builder, op.getLoc(), withAxes(getElementTypeOrSelf(from), names, sizes), gradient, op.getTo(), op.getOver(),
                           op.getBy(), op.getSpreadAttr(), builder.getDenseI64ArrayAttr(dilation), builder.getDenseI64ArrayAttr(before),
                           op.getStrideAttr(), builder.getF64FloatAttr(0), UnitAttr());
}

/// If the gradient is a product of one operand with the positions and another with the window, its windows are those of the first operand:
/// so the gradient of a convolution's input is one product, and no gradient of windows is computed. An operand that has the walked axis for
/// another reason must be summed over it first.
static Value throughProduct(OpBuilder &builder, WindowsOp op, Value gradient) {
  auto product = gradient.getDefiningOp<EinsumOp>();
  if (!product)
    return {};
  auto walks = [&](Value walked, Value other) {
    for (unsigned i = 0; i < op.getOver().size(); ++i)
      if (!hasAxis(walked.getType(), op.toAt(i)) || hasAxis(other.getType(), op.toAt(i)) || hasAxis(walked.getType(), op.byAt(i)) ||
          hasAxis(walked.getType(), op.overAt(i)) || hasAxis(other.getType(), op.overAt(i)))
        return false;
    return true;
  };
  Value a = product.getA(), b = product.getB();
  if (!walks(a, b)) {
    if (!walks(b, a))
      return {};
    std::swap(a, b);
  }
  return EinsumOp::create(builder, op.getLoc(), op.getX().getType(), adjoint(builder, op, a), b, product.getTf32Attr());
}

/// If the gradient has one entry per position (pooling), this takes the windows of that entry, so that nothing of the size of all windows
/// is written. An entry of x adds the gradients of the windows that it is in (average pooling), or of those whose first largest entry it
/// is.
static Value throughPositions(OpBuilder &builder, WindowsOp op, Value gradient) {
  auto hasPositionsOnly = [&](Type type) {
    for (unsigned i = 0; i < op.getOver().size(); ++i)
      if (!hasAxis(type, op.toAt(i)) || hasAxis(type, op.byAt(i)) || hasAxis(type, op.overAt(i)))
        return false;
    return true;
  };
  if (auto entry = gradient.getDefiningOp<AtPositionOp>()) {
    if (!hasPositionsOnly(entry.getX().getType()))
      return {};
    WindowsOp x = adjoint(builder, op, entry.getX()), position = adjoint(builder, op, entry.getPosition());
    SmallVector<StringAttr> names(axesOf(x.getType()));
    SmallVector<int64_t> sizes(cast<RankedTensorType>(x.getType()).getShape());
    for (auto axis : entry.getAxes().getAsRange<StringAttr>())
      if (!hasAxis(x.getType(), axis))
        names.push_back(axis), sizes.push_back(sizeOf(gradient.getType(), axis));
    Type result = withAxes(getElementTypeOrSelf(x.getType()), names, sizes);
    return AtPositionOp::create(builder, op.getLoc(), result, x, position, entry.getAxes());
  }
  if (auto same = gradient.getDefiningOp<BroadcastOp>(); same && hasPositionsOnly(same.getX().getType())) {
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (StringAttr axis : axesOf(gradient.getType()))
      if (!llvm::is_contained(op.getBy(), axis))
        names.push_back(axis), sizes.push_back(sizeOf(gradient.getType(), axis));
    Type repeated = withAxes(getElementTypeOrSelf(gradient.getType()), names, sizes);
    return adjoint(builder, op, broadcastTo(builder, op.getLoc(), same.getX(), repeated));
  }
  return {};
}

SmallVector<Value> WindowsOp::buildGradients(OpBuilder &builder, ValueRange gradients) {
  if (Value product = throughProduct(builder, *this, gradients[0]))
    return {product};
  if (Value entries = throughPositions(builder, *this, gradients[0]))
    return {reduceTo(builder, getLoc(), entries, getX().getType())};
  return {reduceTo(builder, getLoc(), adjoint(builder, *this, gradients[0]), getX().getType())};
}

//===- Meaning -----------------------------------------------------------------------------------------------------------===//

LogicalResult WindowsOp::lower(Lowering &lowering) {
  auto x = cast<RankedTensorType>(getX().getType());
  return lowering.map(*this, {}, [&](Body &body, Lowering::Scalars) -> SmallVector<Scalar> {
    Scalar inside;
    llvm::SmallDenseMap<StringAttr, Scalar> entries;
    for (unsigned i = 0; i < getOver().size(); ++i) {
      int64_t size = sizeOf(x, overAt(i));
      auto times = [&](Scalar index, int64_t factor) { return factor == 1 ? index : muli(index, body.integer(factor)); };
      Scalar position = getLocal() ? body.index(toAt(i)) : body.globalIndex(getType(), toAt(i));
      Scalar index = addi(times(position, getStride()[i]), times(body.index(byAt(i)), getDilation()[i]));
      if (getBefore()[i] != 0)
        index = subi(index, body.integer(getBefore()[i]));
      Scalar isEntry = both(lessi(body.integer(-1), index), lessi(index, body.integer((size - 1) * getSpread()[i] + 1)));
      Scalar entry = clampIndex(index, (size - 1) * getSpread()[i] + 1);
      if (getSpread()[i] != 1) {
        Scalar spread = body.integer(getSpread()[i]);
        Scalar quotient = entry.make<arith::DivUIOp>(entry, spread);
        isEntry = both(isEntry, equali(muli(quotient, spread), entry));
        entry = quotient;
      }
      inside = i == 0 ? isEntry : both(inside, isEntry);
      entries[overAt(i)] = entry;
    }
    SmallVector<Scalar> indices;
    for (StringAttr axis : axesOf(x)) {
      auto found = entries.find(axis);
      indices.push_back(found == entries.end() ? body.index(axis) : found->second);
    }
    Scalar value = body.extract(lowering.get(getX()), indices);
    return {select(inside, value, value.like(getFill().convertToDouble()))};
  });
}
