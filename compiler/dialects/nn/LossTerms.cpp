// Reads the terms of the loss from the module, and divides by what counts.
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/ops/VariableName.h"

using namespace mlir;

namespace npar::nn {

SmallVector<LossTerm> lossTerms(ModuleOp module) {
  auto list = module->getAttrOfType<ArrayAttr>(lossesAttribute);
  if (!list)
    return {LossTerm{}};
  SmallVector<LossTerm> terms;
  for (auto entry : list.getAsRange<DictionaryAttr>())
    terms.push_back({entry.getAs<StringAttr>("name").str(), entry.getAs<FloatAttr>("weight").getValueAsDouble()});
  return terms;
}

Value perCounted(OpBuilder &builder, Location location, ModuleOp module, const LossTerm &term, Value value) {
  auto variable = findVariable(module, term.count());
  if (!variable)
    return value;
  Type scalar = variable.getType();
  Value count = ReadOp::create(builder, location, scalar, pathOf(variable));
  Value one = FillOp::create(builder, location, scalar, builder.getF64FloatAttr(1));
  return DivOp::create(builder, location, scalar, value, Max2Op::create(builder, location, scalar, count, one));
}

} // namespace npar::nn
