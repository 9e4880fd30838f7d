// Collects an entry for each measure and prediction.
#include "compiler/import/MeasureList.h"

using namespace mlir;

namespace npar {

void MeasureList::add(StringRef name, program::MeasureKind kind, double weight, ArrayRef<std::string> values, StringRef counted) {
  measures.push_back({name.str(), kind, weight, values.vec(), counted.str()});
}

void MeasureList::addPrediction(StringRef name, StringRef result) { predictions.push_back({name.str(), result.str()}); }

void MeasureList::set(ModuleOp module) const {
  if (!measures.empty())
    attributes::setMeasures(module, measures);
  if (!predictions.empty())
    attributes::setPredictions(module, predictions);
}

} // namespace npar
