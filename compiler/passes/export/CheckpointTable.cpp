// Writes one entry of the table for each rule, in their order.
#include "compiler/passes/export/CheckpointTable.h"
#include "compiler/attributes/TableAttributes.h"

using namespace mlir;

LogicalResult npar::fillCheckpointRules(ModuleOp module, program::ProgramT &program) {
  FailureOr<std::vector<attributes::CheckpointEntry>> rules = attributes::getCheckpointRules(module);
  if (failed(rules))
    return failure();
  for (const attributes::CheckpointEntry &rule : *rules) {
    auto entry = std::make_unique<program::CheckpointRuleT>();
    entry->kind = rule.kind;
    entry->file = rule.file.str();
    entry->model = rule.model.str();
    program.checkpoint.push_back(std::move(entry));
  }
  return success();
}
