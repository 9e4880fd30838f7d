// Follows views down to the stored value, and copies values that have the wrong memory layout.
#include "compiler/codegen/outline/View.h"
#include "compiler/attributes/ModuleAttributes.h"

using namespace mlir;

namespace npar::codegen {

bool isRenaming(nn::WindowsOp windows) {
  for (unsigned i = 0; i < windows.getOver().size(); ++i)
    if (nn::sizeOf(windows.getType(), windows.byAt(i)) != 1 || windows.getStride()[i] != 1 || windows.getSpread()[i] != 1 ||
        windows.getBefore()[i] != 0 ||
        nn::sizeOf(windows.getType(), windows.toAt(i)) != nn::sizeOf(windows.getX().getType(), windows.overAt(i)))
      return false;
  return true;
}

View::View(Value value) {
  // Names as the value has them, from its own dimensions down to the base's.
  SmallVector<std::pair<StringAttr, StringAttr>> renames; // stored name -> name seen
  SmallVector<std::pair<StringAttr, int64_t>> selected;
  base = value;
  while (true) {
    if (auto rename = base.getDefiningOp<nn::RenameOp>()) {
      renames.emplace_back(rename.getFromAttr(), rename.getToAttr());
      base = rename.getX();
    } else if (auto select = base.getDefiningOp<nn::SelectOp>()) {
      selected.emplace_back(select.getAxisAttr(), select.getIndex());
      base = select.getX();
    } else if (auto windows = base.getDefiningOp<nn::WindowsOp>(); windows && isRenaming(windows)) {
      for (unsigned i = 0; i < windows.getOver().size(); ++i)
        renames.emplace_back(windows.overAt(i), windows.toAt(i));
      base = windows.getX();
    } else {
      break;
    }
  }
  auto type = cast<RankedTensorType>(base.getType());
  int64_t stride = 1;
  ArrayRef<StringAttr> names = nn::axesOf(type);
  for (int64_t dim = type.getRank() - 1; dim >= 0; stride *= type.getDimSize(dim), --dim) {
    StringAttr name = names[dim];
    for (auto &[from, to] : llvm::reverse(renames))
      if (name == from)
        name = to;
    auto fixed = llvm::find_if(selected, [&](auto &entry) { return entry.first == names[dim] && !nn::hasAxis(value.getType(), name); });
    if (fixed != selected.end())
      offset += fixed->second * stride;
    else
      strides[name] = stride;
  }
}

int64_t View::stride(StringAttr axis) const {
  auto found = strides.find(axis);
  return found == strides.end() ? 0 : found->second;
}

RankedTensorType inOrder(RankedTensorType type, ArrayRef<StringAttr> order) {
  if (nn::axesOf(type) == order)
    return type;
  SmallVector<int64_t> sizes;
  for (StringAttr axis : order)
    sizes.push_back(nn::sizeOf(type, axis));
  dist::LayoutAttr layout = dist::layoutOf(type);
  if (!layout)
    return nn::withAxes(type.getElementType(), order, sizes);
  SmallVector<int64_t> global;
  SmallVector<SmallVector<StringAttr>> splits;
  for (StringAttr axis : order) {
    global.push_back(layout.getSizes()[layout.dimOf(axis)]);
    splits.push_back(layout.splitsOf(layout.dimOf(axis)));
  }
  return RankedTensorType::get(sizes, type.getElementType(),
                               dist::makeLayout(type.getContext(), order, global, splits, layout.getPartialAxes()));
}

Value inOrder(Operation *op, Value operand, ArrayRef<StringAttr> order) {
  auto type = cast<RankedTensorType>(operand.getType());
  RankedTensorType ordered = inOrder(type, order);
  if (ordered == type)
    return operand;
  OpBuilder b(op);
  auto copy = nn::BroadcastOp::create(b, op->getLoc(), ordered, operand);
  attributes::at.copy(op, copy);
  return copy;
}

void dropUnusedViews(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isa<nn::RenameOp, nn::SelectOp, nn::WindowsOp>(op) && op.use_empty())
      op.erase();
}

} // namespace npar::codegen
