// Copies the lines of a model's checkpoint block to the module; `emit` writes them into the compiled program.
#include "compiler/import/CheckpointRules.h"

#include "engine/program/Words.h"

using namespace mlir;

void npar::setCheckpointRules(ModuleOp module, const dsl::Model &model, Builder &builder) {
  SmallVector<Attribute> rules;
  for (const dsl::CheckpointRule &rule : model.checkpoint)
    rules.push_back(builder.getDictionaryAttr({builder.getNamedAttr("kind", builder.getStringAttr(wordOf(rule.kind))),
                                               builder.getNamedAttr("file", builder.getStringAttr(rule.file)),
                                               builder.getNamedAttr("model", builder.getStringAttr(rule.model))}));
  if (!rules.empty())
    module->setAttr("npar.checkpoint", builder.getArrayAttr(rules));
}
