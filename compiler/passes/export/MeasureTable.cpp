// Writes the tables of measures and predictions, entry by entry.
#include "compiler/passes/export/MeasureTable.h"

#include "engine/program/Words.h"

using namespace mlir;

namespace npar {
namespace {

/// The index of a result; nothing, with an error reported, where the program has none of that name.
std::optional<uint32_t> findResult(ModuleOp module, const program::ProgramT &program, StringAttr name) {
  for (auto [index, result] : llvm::enumerate(program.results))
    if (result->name == name.getValue())
      return static_cast<uint32_t>(index);
  module.emitError("internal error: the program has no result '") << name.getValue() << "'";
  return std::nullopt;
}

LogicalResult fillMeasure(ModuleOp module, DictionaryAttr entry, program::ProgramT &program) {
  auto measure = std::make_unique<program::MeasureT>();
  measure->name = entry.getAs<StringAttr>("name").str();
  auto word = entry.getAs<StringAttr>("kind");
  std::optional<program::MeasureKind> kind = program::valueOf<program::MeasureKind>(word.getValue());
  if (!kind)
    return module.emitError("internal error: '") << word.getValue() << "' is no kind of measure";
  measure->kind = *kind;
  measure->weight = entry.getAs<FloatAttr>("weight").getValueAsDouble();
  for (auto name : entry.getAs<ArrayAttr>("values").getAsRange<StringAttr>()) {
    std::optional<uint32_t> index = findResult(module, program, name);
    if (!index)
      return failure();
    measure->values.push_back(*index);
  }
  if (auto counted = entry.getAs<StringAttr>("counted")) {
    std::optional<uint32_t> index = findResult(module, program, counted);
    if (!index)
      return failure();
    measure->counted = static_cast<int32_t>(*index);
  }
  program.measures.push_back(std::move(measure));
  return success();
}

} // namespace

LogicalResult fillMeasures(ModuleOp module, program::ProgramT &program) {
  if (auto measures = module->getAttrOfType<ArrayAttr>("npar.measures"))
    for (auto entry : measures.getAsRange<DictionaryAttr>())
      if (failed(fillMeasure(module, entry, program)))
        return failure();
  if (auto predictions = module->getAttrOfType<ArrayAttr>("npar.predictions"))
    for (auto entry : predictions.getAsRange<DictionaryAttr>()) {
      std::optional<uint32_t> index = findResult(module, program, entry.getAs<StringAttr>("result"));
      if (!index)
        return failure();
      program.predictions.push_back(std::make_unique<program::PredictionT>());
      program.predictions.back()->name = entry.getAs<StringAttr>("name").str();
      program.predictions.back()->result = *index;
    }
  return success();
}

} // namespace npar
