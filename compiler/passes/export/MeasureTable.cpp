// Writes the tables of measures and predictions, entry by entry.
#include "compiler/passes/export/MeasureTable.h"
#include "compiler/attributes/TableAttributes.h"

using namespace mlir;

namespace npar {
namespace {

/// The index of a result; nothing, with an error reported, where the program has none of that name.
std::optional<uint32_t> findResult(ModuleOp module, const program::ProgramT &program, StringRef name) {
  for (auto [index, result] : llvm::enumerate(program.results))
    if (result->name == name)
      return static_cast<uint32_t>(index);
  module.emitError("internal error: the program has no result '") << name << "'";
  return std::nullopt;
}

LogicalResult fillMeasure(ModuleOp module, const attributes::MeasureEntry &entry, program::ProgramT &program) {
  auto measure = std::make_unique<program::MeasureT>();
  measure->name = entry.name;
  measure->kind = entry.kind;
  measure->weight = entry.weight;
  for (const std::string &name : entry.values) {
    std::optional<uint32_t> index = findResult(module, program, name);
    if (!index)
      return failure();
    measure->values.push_back(*index);
  }
  if (!entry.counted.empty()) {
    std::optional<uint32_t> index = findResult(module, program, entry.counted);
    if (!index)
      return failure();
    measure->counted = static_cast<int32_t>(*index);
  }
  program.measures.push_back(std::move(measure));
  return success();
}

} // namespace

LogicalResult fillMeasures(ModuleOp module, program::ProgramT &program) {
  FailureOr<std::vector<attributes::MeasureEntry>> measures = attributes::getMeasures(module);
  if (failed(measures))
    return failure();
  for (const attributes::MeasureEntry &entry : *measures)
    if (failed(fillMeasure(module, entry, program)))
      return failure();
  for (const attributes::PredictionEntry &entry : attributes::getPredictions(module)) {
    std::optional<uint32_t> index = findResult(module, program, entry.result);
    if (!index)
      return failure();
    program.predictions.push_back(std::make_unique<program::PredictionT>());
    program.predictions.back()->name = entry.name;
    program.predictions.back()->result = *index;
  }
  return success();
}

} // namespace npar
