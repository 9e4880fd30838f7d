// Copies the lines of a model's checkpoint block to the module; `emit` writes them into the compiled program.
#include "compiler/import/CheckpointRules.h"

using namespace mlir;

void npar::setCheckpointRules(ModuleOp module, const dsl::Model &model, Builder &builder) {
  static const char *const kinds[] = {"rename", "ignore", "same", "fresh"};
  SmallVector<Attribute> rules;
  for (const dsl::CheckpointRule &rule : model.checkpoint)
    rules.push_back(builder.getDictionaryAttr({builder.getNamedAttr("kind", builder.getStringAttr(kinds[static_cast<int>(rule.kind)])),
                                               builder.getNamedAttr("file", builder.getStringAttr(rule.file)),
                                               builder.getNamedAttr("model", builder.getStringAttr(rule.model))}));
  if (!rules.empty())
    module->setAttr("npar.checkpoint", builder.getArrayAttr(rules));
}
