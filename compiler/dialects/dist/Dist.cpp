// Registers the dist dialect and answers the queries about layouts that several phases need.
#include "compiler/dialects/dist/Dist.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Halo.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "compiler/dialects/dist/DistDialect.cpp.inc"

namespace npar::dist {

void DistDialect::initialize() {
  registerAttributes();
  flatName = StringAttr::get(getContext(), "#flat");
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/dist/DistOps.cpp.inc"
      >();
  addHalo(*this);
}

bool isReduction(Attribute attribute) {
  auto word = dyn_cast<StringAttr>(attribute);
  std::optional<program::ReduceOp> reduction = word ? program::valueOf<program::ReduceOp>(word.getValue()) : std::nullopt;
  if (!reduction)
    return false;
  switch (*reduction) {
  case program::ReduceOp::Sum:
  case program::ReduceOp::Max:
    return true;
  case program::ReduceOp::RoundedSum:
    break;
  }
  return false;
}

MeshAttr meshOf(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto mesh = attributes::mesh.get(parent))
      return mesh;
  return MeshAttr::get(op->getContext(), {}, {});
}

int64_t zigzagOf(Operation *op, StringAttr axis) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto orders = attributes::zigzag.get(parent)) {
      auto ranks = orders.getAs<IntegerAttr>(axis);
      return ranks ? ranks.getInt() : 0;
    }
  return 0;
}

LayoutAttr layoutOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding()) : LayoutAttr();
}

RankedTensorType localType(Type element, LayoutAttr layout, MeshAttr mesh) {
  return RankedTensorType::get(layout.localShape(mesh), element, layout);
}

LayoutAttr withoutPartial(LayoutAttr layout, ArrayRef<StringAttr> axes) {
  SmallVector<StringAttr> kept;
  for (StringAttr axis : layout.getPartialAxes())
    if (!llvm::is_contained(axes, axis))
      kept.push_back(axis);
  return LayoutAttr::get(layout.getContext(), layout.getNames(), layout.getSizes(), layout.getSplits(), kept, layout.getReduction(),
                         layout.getFlatAxes());
}

LayoutAttr makeLayout(MLIRContext *context, ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes, ArrayRef<SmallVector<StringAttr>> splits,
                      ArrayRef<StringAttr> partial, program::ReduceOp reduction) {
  SmallVector<ArrayAttr> arrays;
  for (const SmallVector<StringAttr> &split : splits)
    arrays.push_back(stringArray(context, split));
  return LayoutAttr::get(context, names, sizes, arrays, partial, reduction);
}

SmallVector<StringAttr> stringsOf(ArrayAttr array) {
  SmallVector<StringAttr> strings;
  for (Attribute entry : array)
    strings.push_back(cast<StringAttr>(entry));
  return strings;
}

ArrayAttr stringArray(MLIRContext *context, ArrayRef<StringAttr> strings) {
  return ArrayAttr::get(context, SmallVector<Attribute>(strings.begin(), strings.end()));
}

} // namespace npar::dist
