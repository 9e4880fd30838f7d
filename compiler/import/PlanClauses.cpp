// Copies the clauses of a plan to module attributes; what they mean is decided by the phases that read them.
#include "compiler/import/PlanClauses.h"

#include "compiler/dialects/nn/base/Elements.h"
#include "engine/program/Words.h"

using namespace mlir;

namespace npar {
namespace {

using Locate = llvm::function_ref<LocationAttr(const dsl::Location &)>;
using Entries = SmallVector<NamedAttribute>;

const char *wordOf(dsl::StoreKind kind) {
  switch (kind) {
  case dsl::StoreKind::Parameters:
    return "parameters";
  case dsl::StoreKind::Gradients:
    return "gradients";
  case dsl::StoreKind::Optimizer:
    break;
  }
  return "optimizer";
}

const char *wordOf(dsl::RecomputeKind kind) {
  switch (kind) {
  case dsl::RecomputeKind::None:
    return "none";
  case dsl::RecomputeKind::Attention:
    return "attention";
  case dsl::RecomputeKind::Block:
    return "block";
  case dsl::RecomputeKind::Every:
    return "every";
  case dsl::RecomputeKind::Layers:
    break;
  }
  return "layers";
}

ArrayAttr strings(Builder &builder, const std::vector<std::string> &list) {
  return builder.getStrArrayAttr(SmallVector<StringRef>(list.begin(), list.end()));
}

void setStores(ModuleOp module, const dsl::Plan &plan, Builder &builder, Locate location) {
  SmallVector<Attribute> stores;
  for (const dsl::Store &store : plan.stores) {
    Entries entries{builder.getNamedAttr("what", builder.getStringAttr(wordOf(store.what))),
                    builder.getNamedAttr("mesh", strings(builder, store.mesh)), builder.getNamedAttr("loc", location(store.location))};
    if (store.perStep)
      entries.push_back(builder.getNamedAttr("per_step", builder.getUnitAttr()));
    stores.push_back(builder.getDictionaryAttr(entries));
  }
  if (!stores.empty())
    module->setAttr("dist.stores", builder.getArrayAttr(stores));
  if (plan.bucket > 0)
    module->setAttr("dist.bucket", builder.getI64IntegerAttr(plan.bucket));
  if (plan.hierarchical)
    module->setAttr("dist.hierarchical", builder.getUnitAttr());
  if (plan.library)
    module->setAttr("dist.library", builder.getUnitAttr());
}

void setRecompute(ModuleOp module, const dsl::Recompute &recompute, Builder &builder, Locate location) {
  if (recompute.kind == dsl::RecomputeKind::None)
    return;
  Entries entries{builder.getNamedAttr("kind", builder.getStringAttr(wordOf(recompute.kind))),
                  builder.getNamedAttr("loc", location(recompute.location))};
  if (recompute.kind == dsl::RecomputeKind::Every)
    entries.push_back(builder.getNamedAttr("k", builder.getI64IntegerAttr(recompute.every)));
  if (recompute.kind == dsl::RecomputeKind::Layers)
    entries.push_back(builder.getNamedAttr("layers", strings(builder, recompute.layers)));
  module->setAttr("npar.recompute", builder.getDictionaryAttr(entries));
}

void setPrecision(ModuleOp module, const dsl::Plan &plan, Builder &builder, Locate location) {
  if (plan.compute != dsl::ElementType::BF16 && plan.compute != dsl::ElementType::F16 && !plan.tf32)
    return;
  auto type = [&](StringRef name, dsl::ElementType type) {
    return builder.getNamedAttr(name, TypeAttr::get(nn::typeOf(dsl::programType(type), builder.getContext())));
  };
  Entries entries{plan.tf32 ? builder.getNamedAttr("compute", TypeAttr::get(FloatTF32Type::get(builder.getContext())))
                            : type("compute", plan.compute)};
  if (plan.gradients)
    entries.push_back(type("gradients", *plan.gradients));
  if (plan.reduce)
    entries.push_back(type("reduce", *plan.reduce));
  SmallVector<Attribute> keeps;
  for (const dsl::Keep &keep : plan.keeps)
    keeps.push_back(builder.getDictionaryAttr({builder.getNamedAttr("what", builder.getStringAttr(keep.what)),
                                               builder.getNamedAttr("layer", builder.getBoolAttr(keep.layer)), type("type", keep.type),
                                               builder.getNamedAttr("loc", location(keep.location))}));
  entries.push_back(builder.getNamedAttr("keep", builder.getArrayAttr(keeps)));
  module->setAttr("nn.precision", builder.getDictionaryAttr(entries));
}

void setLimits(ModuleOp module, const dsl::Plan &plan, Builder &builder, Locate location) {
  Entries entries;
  if (plan.memoryLimit) {
    entries.push_back(builder.getNamedAttr("memory", builder.getI64IntegerAttr(*plan.memoryLimit)));
    entries.push_back(builder.getNamedAttr("memory_loc", location(plan.memoryLimitAt)));
  }
  if (plan.bubbleLimit) {
    entries.push_back(builder.getNamedAttr("bubble", builder.getF64FloatAttr(*plan.bubbleLimit)));
    entries.push_back(builder.getNamedAttr("bubble_loc", location(plan.bubbleLimitAt)));
  }
  if (!entries.empty())
    module->setAttr("npar.require", builder.getDictionaryAttr(entries));
}

void setPlace(ModuleOp module, const dsl::Plan &plan, Builder &builder, Locate location) {
  if (plan.place)
    module->setAttr("npar.place", builder.getDictionaryAttr({builder.getNamedAttr("order", strings(builder, plan.place->order)),
                                                             builder.getNamedAttr("inside", strings(builder, plan.place->inside)),
                                                             builder.getNamedAttr("loc", location(plan.place->location))}));
}

} // namespace

void setPlanClauses(ModuleOp module, const dsl::Plan &plan, Builder &builder, Locate location) {
  setStores(module, plan, builder, location);
  setRecompute(module, plan.recompute, builder, location);
  setPrecision(module, plan, builder, location);
  setLimits(module, plan, builder, location);
  setPlace(module, plan, builder, location);
}

} // namespace npar
