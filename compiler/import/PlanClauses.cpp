// Copies the clauses of a plan to module attributes; what they mean is decided by the phases that read them.
#include "compiler/import/PlanClauses.h"

#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/base/Elements.h"

using namespace mlir;

namespace npar::compiler {
namespace {

using Locate = llvm::function_ref<LocationAttr(const dsl::Location &)>;

const char *wordOf(dsl::StoreKind kind) {
  switch (kind) {
  case dsl::StoreKind::Parameters:
    return "parameters";
  case dsl::StoreKind::Gradients:
    return "gradients";
  case dsl::StoreKind::Optimizer:
    return "optimizer";
  case dsl::StoreKind::Secondary:
    break;
  }
  return "secondary";
}

void setStores(ModuleOp module, const dsl::Plan &plan, Locate location) {
  SmallVector<attributes::StoreClause> stores;
  for (const dsl::Store &store : plan.stores) {
    attributes::StoreClause &clause = stores.emplace_back();
    clause.what = wordOf(store.what);
    for (const std::string &axis : store.mesh)
      clause.mesh.push_back(StringAttr::get(module.getContext(), axis));
    clause.perStep = store.perStep;
    clause.loc = location(store.location);
  }
  if (!stores.empty())
    attributes::setStores(module, stores);
  if (plan.bucket > 0)
    attributes::bucketBytes.set(module, plan.bucket);
  if (plan.hierarchical)
    attributes::hierarchical.set(module);
  if (plan.library)
    attributes::librarySums.set(module);
  if (plan.products != dsl::ProductOrder::Fastest)
    attributes::productOrder.set(module, plan.products);
}

void setTiers(ModuleOp module, const dsl::Plan &plan, Locate location) {
  SmallVector<attributes::TierClause> tiers;
  for (const dsl::TierRule &rule : plan.tiers)
    tiers.push_back({wordOf(rule.what), rule.tier, rule.share, rule.folder, location(rule.location)});
  if (!tiers.empty())
    attributes::setTiers(module, tiers);
}

void setRecompute(ModuleOp module, const dsl::Recompute &recompute, Locate location) {
  if (recompute.kind == dsl::RecomputeKind::None)
    return;
  attributes::RecomputeClause clause;
  clause.kind = wordOf(recompute.kind);
  if (recompute.kind == dsl::RecomputeKind::Every)
    clause.every = recompute.every;
  if (recompute.kind == dsl::RecomputeKind::Layers)
    clause.layers.assign(recompute.layers.begin(), recompute.layers.end());
  clause.loc = location(recompute.location);
  attributes::setRecompute(module, clause);
}

void setPrecision(ModuleOp module, const dsl::Plan &plan, Locate location) {
  if (!isNarrow(plan.compute) && !plan.tf32)
    return;
  MLIRContext *context = module.getContext();
  auto typeOf = [&](program::ElementType type) { return nn::typeOf(type, context); };
  attributes::PrecisionClause clause;
  clause.compute = plan.tf32 ? FloatTF32Type::get(context) : typeOf(plan.compute);
  if (plan.gradients)
    clause.gradients = typeOf(*plan.gradients);
  if (plan.reduce)
    clause.reduce = typeOf(*plan.reduce);
  for (const dsl::Keep &keep : plan.keeps)
    clause.keeps.push_back({keep.what, keep.layer, typeOf(keep.type), location(keep.location)});
  attributes::setPrecision(module, clause);
}

void setLimits(ModuleOp module, const dsl::Plan &plan, Locate location) {
  if (!plan.memoryLimit && !plan.bubbleLimit)
    return;
  attributes::LimitsClause clause{plan.memoryLimit, plan.bubbleLimit, {}, {}};
  if (plan.memoryLimit)
    clause.memoryLoc = location(plan.memoryLimitAt);
  if (plan.bubbleLimit)
    clause.bubbleLoc = location(plan.bubbleLimitAt);
  attributes::setLimits(module, clause);
}

} // namespace

void setPlanClauses(ModuleOp module, const dsl::Plan &plan, Locate location) {
  setStores(module, plan, location);
  setTiers(module, plan, location);
  setRecompute(module, plan.recompute, location);
  setPrecision(module, plan, location);
  setLimits(module, plan, location);
  if (plan.expertBuffer > 0)
    attributes::setExpertBuffer(module, {plan.expertBuffer, location(plan.expertBufferAt)});
  if (plan.servers)
    attributes::setServers(module, {StringAttr::get(module.getContext(), plan.servers->mesh), location(plan.servers->location)});
  if (plan.place)
    attributes::setPlace(module, {plan.place->order, plan.place->inside, location(plan.place->location)});
}

} // namespace npar::compiler
