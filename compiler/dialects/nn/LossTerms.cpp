// Reads and writes the terms of the loss on the module, and divides by what counts.
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"

using namespace mlir;

namespace npar::nn {

bool LossTerm::hasSum(StringRef variable) const {
  for (int64_t part = 0; part < parts; ++part)
    if (variable == sum(part))
      return true;
  return false;
}

SmallVector<LossTerm> lossTerms(ModuleOp module) {
  if (!attributes::losses.isOn(module))
    return {LossTerm{}};
  SmallVector<LossTerm> terms;
  for (DictionaryAttr entry : attributes::losses.get(module)) {
    auto parts = entry.getAs<IntegerAttr>("parts");
    terms.push_back(
        {entry.getAs<StringAttr>("name").str(), entry.getAs<FloatAttr>("weight").getValueAsDouble(), parts ? parts.getInt() : 1});
  }
  return terms;
}

void setLossTerms(ModuleOp module, ArrayRef<LossTerm> terms) {
  Builder builder(module.getContext());
  SmallVector<Attribute> list;
  for (const LossTerm &term : terms) {
    NamedAttrList entry;
    entry.append("name", builder.getStringAttr(term.name));
    entry.append("weight", builder.getF64FloatAttr(term.weight));
    if (term.parts > 1)
      entry.append("parts", builder.getI64IntegerAttr(term.parts));
    list.push_back(entry.getDictionary(module.getContext()));
  }
  attributes::losses.set(module, list);
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
