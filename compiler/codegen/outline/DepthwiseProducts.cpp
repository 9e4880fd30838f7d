// Writes an einsum over windows as a product of elements and a sum if one channel, or one feature, is in each group: kernels read windows
// in place, and the tiles of the engine's products are too wide for one column.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/codegen/outline/Outline.h"
#include "compiler/dialects/nn/base/Elements.h"

using namespace mlir;

namespace npar::codegen {

/// `windows` with the axes of size 1 that only `other` has.
static RankedTensorType withUnitsOf(Type windows, Type other, Type element) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes, global;
  SmallVector<SmallVector<StringAttr>> splits;
  dist::LayoutAttr layout = dist::layoutOf(windows);
  for (Type type : {windows, other}) {
    dist::LayoutAttr own = dist::layoutOf(type);
    for (StringAttr axis : nn::axesOf(type)) {
      if (llvm::is_contained(names, axis))
        continue;
      names.push_back(axis);
      sizes.push_back(nn::sizeOf(type, axis));
      if (own) {
        global.push_back(own.getSizes()[own.dimOf(axis)]);
        splits.push_back(own.splitsOf(own.dimOf(axis)));
      }
    }
  }
  if (!layout)
    return nn::withAxes(element, names, sizes);
  return RankedTensorType::get(sizes, element, dist::makeLayout(element.getContext(), names, global, splits, layout.getPartialAxes()));
}

/// Converts 16-bit floats to float32: sums of their products are rounded once.
static Value widenedValue(OpBuilder &builder, nn::EinsumOp op, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!nn::isNarrow(type))
    return value;
  auto wide = nn::ConvertOp::create(builder, op.getLoc(), type.clone(nn::widened(type)), value);
  attributes::at.copy(op, wide);
  return wide;
}

bool rewriteDepthwiseProduct(nn::EinsumOp op) {
  Value windows = op.getA(), other = op.getB();
  if (!windows.getDefiningOp<nn::WindowsOp>())
    std::swap(windows, other);
  auto isAlone = [&](StringAttr axis) { return nn::sizeOf(other.getType(), axis) > 1 && !nn::hasAxis(windows.getType(), axis); };
  if (!windows.getDefiningOp<nn::WindowsOp>() || op.getTf32() || llvm::any_of(nn::axesOf(other.getType()), isAlone))
    return false;
  OpBuilder builder(op);
  auto result = cast<RankedTensorType>(op.getType());
  Value a = widenedValue(builder, op, windows), b = widenedValue(builder, op, other);
  Type element = getElementTypeOrSelf(a.getType());
  auto product = nn::MulOp::create(builder, op.getLoc(), withUnitsOf(a.getType(), b.getType(), element), a, b);
  Value sum = nn::SumOp::create(builder, op.getLoc(), result.clone(element), product);
  attributes::at.copy(op, product);
  attributes::at.copy(op, sum.getDefiningOp());
  if (sum.getType() != result) {
    sum = nn::ConvertOp::create(builder, op.getLoc(), result, sum);
    attributes::at.copy(op, sum.getDefiningOp());
  }
  op.replaceAllUsesWith(sum);
  op.erase();
  return true;
}

} // namespace npar::codegen
