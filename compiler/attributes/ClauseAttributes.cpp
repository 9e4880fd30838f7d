// Clauses of a plan to dictionaries and back, field by field.
#include "compiler/attributes/ClauseAttributes.h"

#include "compiler/attributes/Fields.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "engine/program/Words.h"

using namespace mlir;

namespace npar::attributes {

//===- Stores ---------------------------------------------------------------------------------------------------------------===//

SmallVector<StoreClause> getStores(ModuleOp module) {
  SmallVector<StoreClause> clauses;
  for (DictionaryAttr each : stores.get(module)) {
    FieldReader fields(each);
    clauses.push_back({fields.text("what"), fields.list<StringAttr>("mesh"), fields.has("per_step"), fields.location("loc")});
  }
  return clauses;
}

void setStores(ModuleOp module, ArrayRef<StoreClause> clauses) {
  SmallVector<Attribute> list;
  for (const StoreClause &clause : clauses) {
    FieldWriter fields(module.getContext());
    fields.addText("what", clause.what);
    fields.addList("mesh", SmallVector<Attribute>(clause.mesh.begin(), clause.mesh.end()));
    fields.addGiven("loc", clause.loc);
    if (clause.perStep)
      fields.add("per_step", UnitAttr::get(module.getContext()));
    list.push_back(fields.get());
  }
  stores.set(module, list);
}

//===- Tiers ----------------------------------------------------------------------------------------------------------------===//

SmallVector<TierClause> getTiers(ModuleOp module) {
  SmallVector<TierClause> clauses;
  for (DictionaryAttr each : tiers.get(module)) {
    FieldReader fields(each);
    auto tier = program::valueOf<program::Tier>(std::string_view(fields.text("tier")));
    clauses.push_back({fields.text("what"), *tier, fields.real("share"), fields.has("folder") ? fields.text("folder") : StringRef(),
                       fields.location("loc")});
  }
  return clauses;
}

void setTiers(ModuleOp module, ArrayRef<TierClause> clauses) {
  SmallVector<Attribute> list;
  for (const TierClause &clause : clauses) {
    FieldWriter fields(module.getContext());
    fields.addText("what", clause.what);
    fields.addText("tier", program::wordOf(clause.tier));
    fields.addReal("share", clause.share);
    if (!clause.folder.empty())
      fields.addText("folder", clause.folder);
    fields.addGiven("loc", clause.loc);
    list.push_back(fields.get());
  }
  tiers.set(module, list);
}

//===- Recomputation --------------------------------------------------------------------------------------------------------===//

std::optional<RecomputeClause> getRecompute(ModuleOp module) {
  DictionaryAttr found = recompute.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  RecomputeClause clause{fields.text("kind"), fields.givenInteger("k"), {}, fields.location("loc")};
  llvm::append_range(clause.layers, fields.texts<StringRef>("layers"));
  return clause;
}

void setRecompute(ModuleOp module, const RecomputeClause &clause) {
  FieldWriter fields(module.getContext());
  fields.addText("kind", clause.kind);
  fields.addGiven("loc", clause.loc);
  if (clause.every)
    fields.addInteger("k", *clause.every);
  if (!clause.layers.empty())
    fields.addTexts("layers", clause.layers);
  recompute.set(module, fields.get());
}

//===- Buffer of experts ----------------------------------------------------------------------------------------------------===//

std::optional<ExpertBufferClause> getExpertBuffer(ModuleOp module) {
  DictionaryAttr found = expertBuffer.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  return ExpertBufferClause{fields.real("buffer"), fields.location("loc")};
}

void setExpertBuffer(ModuleOp module, const ExpertBufferClause &clause) {
  FieldWriter fields(module.getContext());
  fields.addReal("buffer", clause.buffer);
  fields.addGiven("loc", clause.loc);
  expertBuffer.set(module, fields.get());
}

//===- Servers --------------------------------------------------------------------------------------------------------------===//

std::optional<ServersClause> getServers(ModuleOp module) {
  DictionaryAttr found = servers.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  return ServersClause{fields.get<StringAttr>("axis"), fields.location("loc")};
}

void setServers(ModuleOp module, const ServersClause &clause) {
  FieldWriter fields(module.getContext());
  fields.add("axis", clause.axis);
  fields.addGiven("loc", clause.loc);
  servers.set(module, fields.get());
}

//===- Precision ------------------------------------------------------------------------------------------------------------===//

std::optional<PrecisionClause> getPrecision(ModuleOp module) {
  DictionaryAttr found = precision.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  PrecisionClause clause{fields.type("compute"), fields.type("gradients"), fields.type("reduce"), {}};
  for (auto each : fields.list<DictionaryAttr>("keep")) {
    FieldReader keep(each);
    clause.keeps.push_back({keep.text("what"), keep.boolean("layer"), keep.type("type"), keep.location("loc")});
  }
  return clause;
}

void setPrecision(ModuleOp module, const PrecisionClause &clause) {
  FieldWriter fields(module.getContext());
  fields.addGiven("compute", clause.compute);
  fields.addGiven("gradients", clause.gradients);
  fields.addGiven("reduce", clause.reduce);
  SmallVector<Attribute> keeps;
  for (const KeepClause &each : clause.keeps) {
    FieldWriter keep(module.getContext());
    keep.addText("what", each.what);
    keep.addBool("layer", each.layer);
    keep.addGiven("type", each.type);
    keep.addGiven("loc", each.loc);
    keeps.push_back(keep.get());
  }
  fields.addList("keep", keeps);
  precision.set(module, fields.get());
}

//===- Limits ---------------------------------------------------------------------------------------------------------------===//

std::optional<LimitsClause> getLimits(ModuleOp module) {
  DictionaryAttr found = limits.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  return LimitsClause{fields.givenInteger("memory"), fields.givenReal("bubble"), fields.location("memory_loc"),
                      fields.location("bubble_loc")};
}

void setLimits(ModuleOp module, const LimitsClause &clause) {
  FieldWriter fields(module.getContext());
  if (clause.memory)
    fields.addInteger("memory", *clause.memory);
  if (clause.bubble)
    fields.addReal("bubble", *clause.bubble);
  fields.addGiven("memory_loc", clause.memoryLoc);
  fields.addGiven("bubble_loc", clause.bubbleLoc);
  limits.set(module, fields.get());
}

//===- Placement ------------------------------------------------------------------------------------------------------------===//

std::optional<PlaceClause> getPlace(ModuleOp module) {
  DictionaryAttr found = placement.get(module);
  if (!found)
    return std::nullopt;
  FieldReader fields(found);
  return PlaceClause{fields.texts<std::string>("order"), fields.texts<std::string>("inside"), fields.location("loc")};
}

void setPlace(ModuleOp module, const PlaceClause &clause) {
  FieldWriter fields(module.getContext());
  fields.addTexts("order", clause.order);
  fields.addTexts("inside", clause.inside);
  fields.addGiven("loc", clause.loc);
  placement.set(module, fields.get());
}

} // namespace npar::attributes
