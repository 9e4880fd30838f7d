// Writes one entry of the table for each rule, in their order.
#include "compiler/passes/export/CheckpointTable.h"

#include "engine/program/Words.h"

using namespace mlir;

LogicalResult npar::fillCheckpointRules(ModuleOp module, program::ProgramT &program) {
  auto rules = module->getAttrOfType<ArrayAttr>("npar.checkpoint");
  if (!rules)
    return success();
  for (auto rule : rules.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) {
      auto attribute = rule.getAs<StringAttr>(name);
      return attribute ? attribute.str() : std::string();
    };
    auto entry = std::make_unique<program::CheckpointRuleT>();
    std::optional<program::CheckpointRuleKind> kind = program::valueOf<program::CheckpointRuleKind>(text("kind"));
    if (!kind)
      return module.emitError("internal error: a checkpoint rule of unknown kind '") << text("kind") << "'";
    entry->kind = *kind;
    entry->file = text("file");
    entry->model = text("model");
    program.checkpoint.push_back(std::move(entry));
  }
  return success();
}
