// Builds a dictionary for each measure and prediction.
#include "compiler/import/MeasureList.h"

#include "engine/program/Words.h"

using namespace mlir;

namespace npar {

void MeasureList::add(StringRef name, program::MeasureKind kind, double weight, ArrayRef<std::string> values, StringRef counted) {
  SmallVector<StringRef> results(values.begin(), values.end());
  SmallVector<NamedAttribute> entries{text("name", name), text("kind", wordOf(kind)),
                                      builder.getNamedAttr("weight", builder.getF64FloatAttr(weight)),
                                      builder.getNamedAttr("values", builder.getStrArrayAttr(results))};
  if (!counted.empty())
    entries.push_back(text("counted", counted));
  measures.push_back(builder.getDictionaryAttr(entries));
}

void MeasureList::addPrediction(StringRef name, StringRef result) {
  predictions.push_back(builder.getDictionaryAttr({text("name", name), text("result", result)}));
}

void MeasureList::set(ModuleOp module) const {
  if (!measures.empty())
    module->setAttr("npar.measures", builder.getArrayAttr(measures));
  if (!predictions.empty())
    module->setAttr("npar.predictions", builder.getArrayAttr(predictions));
}

} // namespace npar
