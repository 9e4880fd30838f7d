// Attributes of the module by the declarations that they come from.
#include "compiler/import/ModuleAttributes.h"

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/OptimizerAttributes.h"
#include "compiler/import/CheckpointRules.h"
#include "compiler/import/DataBlock.h"
#include "compiler/import/PlanClauses.h"

using namespace mlir;

namespace npar {
namespace {

using At = llvm::function_ref<LocationAttr(const dsl::Location &)>;

void setPlan(ModuleOp module, const dsl::Program &program, Builder &builder, At location) {
  const dsl::Model &model = program.model;
  const dsl::Plan &plan = program.plan;
  MLIRContext *context = builder.getContext();
  module->setAttr("npar.model", builder.getStringAttr(model.name));
  module->setAttr("npar.plan", builder.getStringAttr(plan.name));
  module->setAttr("npar.train", builder.getStringAttr(program.train.name));
  if (program.machine)
    dist::setMachine(module, *program.machine);
  module->setAttr("npar.batch", builder.getI64IntegerAttr(program.train.batch));
  module->setAttr("npar.micro_count", builder.getI64IntegerAttr(plan.microCount));
  module->setAttr("npar.seed", builder.getI64IntegerAttr(static_cast<int64_t>(program.train.seed)));
  module->setAttr("npar.blocks", builder.getI64IntegerAttr(model.blocks));
  SmallVector<NamedAttribute> axes;
  for (const dsl::Axis &axis : model.axes)
    axes.push_back(builder.getNamedAttr(axis.name, location(axis.location)));
  module->setAttr("nn.axis_lines", builder.getDictionaryAttr(axes));
  SmallVector<StringAttr> names;
  SmallVector<int64_t> extents;
  SmallVector<Attribute> lines;
  for (const dsl::MeshAxis &axis : plan.mesh) {
    names.push_back(builder.getStringAttr(axis.name));
    extents.push_back(axis.size);
    lines.push_back(location(axis.location));
  }
  module->setAttr("dist.mesh", dist::MeshAttr::get(context, names, extents));
  module->setAttr("dist.mesh_lines", builder.getArrayAttr(lines));
  SmallVector<Attribute> rules;
  for (const dsl::Rule &rule : plan.rules) {
    SmallVector<StringAttr> mesh;
    for (const std::string &axis : rule.mesh)
      mesh.push_back(builder.getStringAttr(axis));
    rules.push_back(dist::RuleAttr::get(context, builder.getStringAttr(rule.axis), rule.pad, mesh, builder.getStringAttr(rule.op),
                                        builder.getStringAttr(rule.layer), builder.getStringAttr(rule.by), location(rule.location)));
  }
  module->setAttr("dist.rules", builder.getArrayAttr(rules));
  setPlanClauses(module, plan, builder, location);
  if (plan.pipeline) {
    module->setAttr("pipe.schedule", builder.getStringAttr(plan.pipeline->schedule));
    module->setAttr("pipe.axis", builder.getStringAttr(plan.pipeline->mesh));
    module->setAttr("pipe.chunks", builder.getI64IntegerAttr(plan.pipeline->chunks));
    if (plan.pipeline->live > 0) {
      module->setAttr("pipe.live", builder.getF64FloatAttr(plan.pipeline->live));
      module->setAttr("pipe.live_loc", location(plan.pipeline->liveAt));
    }
    if (!plan.pipeline->counts.empty())
      module->setAttr("pipe.counts", builder.getDenseI64ArrayAttr(plan.pipeline->counts));
    if (!plan.pipeline->path.empty())
      module->setAttr("pipe.schedule_text", builder.getStringAttr(plan.pipeline->text));
  }
}

void setTrain(ModuleOp module, const dsl::Train &train, Builder &builder) {
  nn::setOptimizers(module, train.optimizers);
  if (train.clip)
    module->setAttr("nn.clip", builder.getF64FloatAttr(*train.clip));
  if (train.groups.size() > 1) {
    SmallVector<StringRef> groups(train.groups.begin(), train.groups.end());
    module->setAttr("npar.groups", builder.getStrArrayAttr(groups));
  }
}

/// Writes nothing for a loss without a name, of weight 1, and an empty list for a model without a loss.
void setLosses(ModuleOp module, const dsl::Model &model, Builder &builder) {
  if (!model.losses.empty() && model.losses[0].name.empty() && model.losses[0].weight == 1)
    return;
  SmallVector<Attribute> terms;
  for (const dsl::Loss &loss : model.losses)
    terms.push_back(builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(loss.name)),
                                               builder.getNamedAttr("weight", builder.getF64FloatAttr(loss.weight))}));
  module->setAttr(nn::lossesAttribute, builder.getArrayAttr(terms));
}

} // namespace

void setModuleAttributes(ModuleOp module, const dsl::Program &program, Builder &builder, At location) {
  setPlan(module, program, builder, location);
  setTrain(module, program.train, builder);
  setCheckpointRules(module, program.model, builder);
  if (program.data)
    setDataBlock(module, *program.data, builder, location);
  setLosses(module, program.model, builder);
}

} // namespace npar
