// Result layouts of local operations, and the all_reduce after a reduction over a split axis (RULES.md#P5).
#include "compiler/passes/place/LocalBuilder.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/place/Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

LocalBuilder::LocalBuilder(Operation *op) : builder(op), op(op), mesh(dist::meshOf(op)) {}

Value LocalBuilder::build(StringRef name, Type result, ValueRange operands, Attributes attributes) {
  OperationState state(op->getLoc(), ("nn." + name).str());
  state.addTypes(result);
  state.addOperands(operands);
  for (auto [key, value] : attributes)
    state.addAttribute(key, value);
  Operation *created = builder.create(state);
  if (auto at = nn::getAt(op))
    nn::setAt(created, at);
  return created->getResult(0);
}

Type LocalBuilder::typeOf(Value like, ArrayRef<Value> sources, ArrayRef<StringAttr> axes) {
  SmallVector<int64_t> sizes;
  SmallVector<SmallVector<StringAttr>> splits;
  for (StringAttr axis : axes)
    for (Value source : sources) {
      LayoutAttr layout = dist::layoutOf(source);
      int64_t dim = layout.dimOf(axis);
      if (dim < 0)
        continue;
      sizes.push_back(layout.getSizes()[dim]);
      splits.push_back(layout.splitsOf(dim));
      break;
    }
  Type element = cast<RankedTensorType>(like.getType()).getElementType();
  return dist::localType(element, dist::makeLayout(op->getContext(), axes, sizes, splits), mesh);
}

Value LocalBuilder::binary(StringRef name, Value a, Value b, Type result) {
  ArrayRef<StringAttr> first = nn::axesOf(a.getType()), second = nn::axesOf(b.getType());
  SmallVector<StringAttr> axes(first.size() >= second.size() ? first : second);
  for (StringAttr axis : first.size() >= second.size() ? second : first)
    if (!llvm::is_contained(axes, axis))
      axes.push_back(axis);
  return build(name, result ? result : typeOf(a, {a, b}, axes), {a, b});
}

Value LocalBuilder::scale(Value x, double factor, Type result) {
  return build("scale", result ? result : x.getType(), x, {{"factor", builder.getF64FloatAttr(factor)}});
}

Value LocalBuilder::shift(Value x, double value) { return build("shift", x.getType(), x, {{"value", builder.getF64FloatAttr(value)}}); }

Value LocalBuilder::reduce(StringRef name, program::ReduceOp reduction, Value x, StringAttr axis, ValueRange operands,
                           Attributes attributes, Type result) {
  LayoutAttr layout = dist::layoutOf(x);
  SmallVector<StringAttr> axes;
  for (StringAttr kept : layout.getNames())
    if (kept != axis)
      axes.push_back(kept);
  auto whole = cast<RankedTensorType>(result ? result : typeOf(x, {x}, axes));
  SmallVector<StringAttr> splits = layout.splitsOf(layout.dimOf(axis));
  if (splits.empty())
    return build(name, whole, operands, attributes);
  LayoutAttr to = dist::layoutOf(whole);
  SmallVector<StringAttr> ordered;
  for (StringAttr meshAxis : mesh.getNames())
    if (llvm::is_contained(splits, meshAxis))
      ordered.push_back(meshAxis);
  LayoutAttr from = LayoutAttr::get(op->getContext(), to.getNames(), to.getSizes(), to.getSplits(), ordered, reduction);
  Value partial = build(name, dist::localType(whole.getElementType(), from, mesh), operands, attributes);
  auto cause = dist::CauseAttr::get(op->getContext(), program::CauseKind::ReducesSplit, builder.getStringAttr(op->getName().stripDialect()),
                                    {}, builder.getArrayAttr({axis}), builder.getStrArrayAttr({""}), {}, {});
  auto all =
      dist::AllReduceOp::create(builder, op->getLoc(), whole, partial, dist::stringArray(op->getContext(), ordered), reduction, cause);
  if (SmallVector<Attribute> rules = namedRules(op, axis, ordered); !rules.empty())
    attributes::causingRules.set(all, rules);
  if (auto at = nn::getAt(op))
    nn::setAt(all, at);
  return all.getResult();
}

Value LocalBuilder::mean(Value x, StringAttr axis, Type result) {
  LayoutAttr layout = dist::layoutOf(x);
  return scale(sum(x, axis, result), 1.0 / double(layout.getSizes()[layout.dimOf(axis)]));
}

Value LocalBuilder::einsum(Value a, Value b, ArrayRef<StringAttr> axes, Type element) {
  Type type = typeOf(a, {a, b}, axes);
  return build("einsum", element ? nn::withElement(type, element) : type, {a, b});
}

Value LocalBuilder::convert(Value x, Type element) {
  return getElementTypeOrSelf(x.getType()) == element ? x : build("convert", nn::withElement(x.getType(), element), x);
}

Type LocalBuilder::renamed(Type type, StringAttr from, StringAttr to) {
  LayoutAttr layout = dist::layoutOf(type);
  SmallVector<StringAttr> names(layout.getNames());
  llvm::replace(names, from, to);
  LayoutAttr renamed =
      LayoutAttr::get(op->getContext(), names, layout.getSizes(), layout.getSplits(), layout.getPartialAxes(), layout.getReduction());
  return dist::localType(cast<RankedTensorType>(type).getElementType(), renamed, mesh);
}

Value LocalBuilder::rename(Value x, StringAttr from, StringAttr to) {
  return build("rename", renamed(x.getType(), from, to), x, {{"from", from}, {"to", to}});
}

Value LocalBuilder::maskPadding(Value x, StringAttr axis) {
  LayoutAttr layout = dist::layoutOf(x);
  if (!layout.isPadded(layout.dimOf(axis), mesh))
    return x;
  auto masked = dist::MaskPaddingOp::create(builder, op->getLoc(), x.getType(), x, builder.getArrayAttr({axis}));
  if (auto at = nn::getAt(op))
    nn::setAt(masked, at);
  return masked.getResult();
}

} // namespace npar::place
