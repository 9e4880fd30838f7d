// Attributes of the module by the declarations that they come from.
#include "compiler/import/ImportAttributes.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/OptimizerAttributes.h"
#include "compiler/import/ImportTables.h"
#include "compiler/import/PlanClauses.h"

using namespace mlir;

namespace npar::compiler {
namespace {

using At = llvm::function_ref<LocationAttr(const dsl::Location &)>;

void setPlan(ModuleOp module, const dsl::Program &program, Builder &builder, At location) {
  const dsl::Model &model = program.model;
  const dsl::Plan &plan = program.plan;
  MLIRContext *context = builder.getContext();
  attributes::model.set(module, model.name);
  attributes::plan.set(module, plan.name);
  attributes::train.set(module, program.train.name);
  if (program.machine)
    dist::setMachine(module, *program.machine);
  attributes::batch.set(module, program.train.batch);
  attributes::microCount.set(module, plan.microCount);
  attributes::seed.set(module, static_cast<int64_t>(program.train.seed));
  attributes::blocks.set(module, model.blocks);
  SmallVector<NamedAttribute> axes;
  for (const dsl::Axis &axis : model.axes)
    axes.push_back(builder.getNamedAttr(axis.name, location(axis.location)));
  attributes::axisLines.set(module, builder.getDictionaryAttr(axes));
  SmallVector<StringAttr> names;
  SmallVector<int64_t> extents;
  SmallVector<Attribute> lines;
  for (const dsl::MeshAxis &axis : plan.mesh) {
    names.push_back(builder.getStringAttr(axis.name));
    extents.push_back(axis.size);
    lines.push_back(location(axis.location));
  }
  attributes::mesh.set(module, dist::MeshAttr::get(context, names, extents));
  attributes::meshLines.set(module, lines);
  SmallVector<Attribute> rules;
  for (const dsl::Rule &rule : plan.rules) {
    SmallVector<StringAttr> mesh;
    for (const std::string &axis : rule.mesh)
      mesh.push_back(builder.getStringAttr(axis));
    rules.push_back(dist::RuleAttr::get(context, builder.getStringAttr(rule.axis), rule.pad, mesh, builder.getStringAttr(rule.op),
                                        builder.getStringAttr(rule.layer), builder.getStringAttr(rule.by), location(rule.location)));
  }
  attributes::rules.set(module, rules);
  setPlanClauses(module, plan, location);
  if (plan.pipeline) {
    attributes::schedule.set(module, plan.pipeline->schedule);
    attributes::pipelineAxis.set(module, plan.pipeline->mesh);
    attributes::chunks.set(module, plan.pipeline->chunks);
    if (plan.pipeline->live > 0) {
      attributes::live.set(module, plan.pipeline->live);
      attributes::liveLine.set(module, location(plan.pipeline->liveAt));
    }
    if (!plan.pipeline->counts.empty())
      attributes::partSizes.set(module, builder.getDenseI64ArrayAttr(plan.pipeline->counts));
    if (!plan.pipeline->path.empty())
      attributes::scheduleText.set(module, plan.pipeline->text);
  }
}

void setTrain(ModuleOp module, const dsl::Train &train, Builder &builder) {
  nn::setOptimizers(module, train.optimizers);
  nn::setRates(module, train.optimizers);
  if (train.epochs)
    attributes::epochs.set(module, *train.epochs);
  if (train.clip)
    attributes::clip.set(module, *train.clip);
  if (train.groups.size() > 1) {
    SmallVector<Attribute> groups;
    for (const std::string &group : train.groups)
      groups.push_back(builder.getStringAttr(group));
    attributes::groups.set(module, groups);
  }
}

/// Writes nothing for a loss without a name, of weight 1, and an empty list for a model without a loss.
void setLosses(ModuleOp module, const dsl::Model &model) {
  if (!model.losses.empty() && model.losses[0].name.empty() && model.losses[0].weight == 1)
    return;
  SmallVector<nn::LossTerm> terms;
  for (const dsl::Loss &loss : model.losses)
    terms.push_back({loss.name, loss.weight});
  nn::setLossTerms(module, terms);
}

} // namespace

void setModuleAttributes(ModuleOp module, const dsl::Program &program, Builder &builder, At location) {
  setPlan(module, program, builder, location);
  setTrain(module, program.train, builder);
  setCheckpointRules(module, program.model);
  if (program.data)
    setDataBlock(module, *program.data, location);
  setLosses(module, program.model);
}

} // namespace npar::compiler
