// Writes one entry of the table for each rule, in their order.
#include "compiler/passes/export/CheckpointTable.h"

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
    auto kind = llvm::find_if(program::EnumValuesCheckpointRuleKind(), [&](program::CheckpointRuleKind each) {
      return StringRef(program::EnumNameCheckpointRuleKind(each)).equals_insensitive(text("kind"));
    });
    if (kind == std::end(program::EnumValuesCheckpointRuleKind()))
      return module.emitError("internal error: a checkpoint rule of unknown kind '") << text("kind") << "'";
    entry->kind = *kind;
    entry->file = text("file");
    entry->model = text("model");
    program.checkpoint.push_back(std::move(entry));
  }
  return success();
}
