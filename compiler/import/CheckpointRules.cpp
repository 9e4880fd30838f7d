// Copies the lines of a model's checkpoint block to the module; `export` writes them into the compiled program.
#include "compiler/import/CheckpointRules.h"

#include "compiler/attributes/TableAttributes.h"

using namespace mlir;

void npar::setCheckpointRules(ModuleOp module, const dsl::Model &model) {
  std::vector<attributes::CheckpointEntry> rules;
  for (const dsl::CheckpointRule &rule : model.checkpoint)
    rules.push_back({rule.kind, rule.file, rule.model});
  if (!rules.empty())
    attributes::setCheckpointRules(module, rules);
}
