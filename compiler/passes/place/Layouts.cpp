// Derives the layouts of all values from the rules; see Layouts.h for the order of decisions.
#include "compiler/passes/place/Layouts.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

nn::Phase phaseOf(Operation *op) {
  auto at = nn::getAt(op);
  return at ? at.getPhase() : nn::Phase::F;
}

bool acceptsPartialOperands(Operation *op) {
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  return shardable && (shardable.isLinear() || isa<nn::GatherOp, nn::ScatterAddOp, nn::PickOp>(op));
}

Layouts::Layouts(ModuleOp module, Rules &rules) : module(module), context(module.getContext()), rules(rules) { collect(); }

void Layouts::collect() {
  for (StringRef name : {"count", "start", "micro", "update"}) {
    Operation *function = module.lookupSymbol(name);
    if (!function || function->getNumRegions() != 1 || function->getRegion(0).empty())
      continue;
    Block &block = function->getRegion(0).front();
    if (name == "start" || name == "update")
      updateBlocks.insert(&block);
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
  }
}

LogicalResult Layouts::derive() {
  StringAttr batch = StringAttr::get(context, "batch");
  for (Operation *op : ops)
    if (!isUpdate(op))
      byRules[op] = rules.assign(op, {}, isa<nn::InputOp>(op) ? batch : StringAttr());
  if (failed(rules.check()))
    return failure();
  placeParameters();
  placeUpdate();
  for (bool changed = true; changed;) {
    sweep();
    changed = false;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (LayoutAttr found = layouts.lookup(result); found && found.isPartial())
          if (!llvm::all_of(result.getUses(), [&](OpOperand &use) { return acceptsPartial(use); }))
            changed |= reducedValues.insert(result).second;
  }
  return success();
}

LayoutAttr Layouts::layoutFor(Type type, const Assignment &assignment) const {
  SmallVector<StringAttr> names(nn::axesOf(type));
  SmallVector<int64_t> sizes;
  SmallVector<SmallVector<StringAttr>> splits;
  for (StringAttr name : names) {
    sizes.push_back(rules.sizeOf(name));
    splits.emplace_back(assignment.splitsOf(name));
  }
  return dist::makeLayout(context, names, sizes, splits);
}

/// P7: a dimension is split as far as all uses agree.
void Layouts::placeParameters() {
  llvm::StringMap<SmallVector<LayoutAttr>> uses;
  for (Operation *op : ops)
    if (auto read = dyn_cast<nn::ReadOp>(op); read && !isUpdate(op))
      for (OpOperand &use : read.getResult().getUses())
        if (LayoutAttr wants = wantedWhole(use))
          uses[read.getVariable()].push_back(wants);
  auto variableOps = llvm::to_vector(module.getOps<nn::VariableOp>());
  for (nn::VariableOp variable : variableOps) {
    LayoutAttr layout = replicated(variable.getType());
    ArrayRef<LayoutAttr> wants = uses[variable.getSymName()];
    for (size_t dim = 0; !wants.empty() && dim < layout.getNames().size(); ++dim) {
      SmallVector<StringAttr> common = wants.front().splitsOf(dim);
      for (LayoutAttr other : wants.drop_front()) {
        SmallVector<StringAttr> splits = other.splitsOf(dim);
        size_t length = 0;
        while (length < std::min(common.size(), splits.size()) && common[length] == splits[length])
          ++length;
        common.truncate(length);
      }
      layout = layout.withSplits(dim, common);
    }
    variables[variable.getSymName()] = layout;
  }
  for (nn::VariableOp variable : variableOps)
    if (variable.isKind(nn::VariableKind::State) && variable.getOf())
      variables[variable.getSymName()] = variables.lookup(*variable.getOf());
}

/// Operations of @update work in the layout of their parameter; square sums are added over all ranks that own different elements.
void Layouts::placeUpdate() {
  for (Operation *op : ops) {
    if (!isUpdate(op) || op->getNumOperands() == 0)
      continue;
    auto read = op->getOperand(0).getDefiningOp<nn::ReadOp>();
    if (!read || !isa<nn::CombineOp, nn::AdamwOp, nn::SgdOp>(op))
      continue;
    StringRef name = read.getVariable();
    if (auto variable = nn::lookupVariable(op, name); variable && variable.getOf())
      name = *variable.getOf();
    updated[op] = variables.lookup(name);
  }
  for (auto [axis, size] : llvm::zip(rules.mesh.getNames(), rules.mesh.getSizes())) {
    bool split = llvm::any_of(updated, [&, axis = axis](auto &entry) { return entry.second && entry.second.splitsOver(axis); });
    if (size > 1 && (split || !llvm::is_contained(rules.batchAxes(), axis)))
      ownerAxes.push_back(axis);
  }
}

void Layouts::sweep() {
  rawLayouts.clear();
  layouts.clear();
  freeValues.clear();
  kept.clear();
  assignments = byRules;
  for (Operation *op : ops)
    define(op);
}

void Layouts::define(Operation *op) {
  bool cheap = isa<nn::ScaleOp, nn::ShiftOp, nn::BroadcastOp, nn::ConvertOp, nn::RenameOp>(op);
  if (isa<nn::IndexOp, nn::FillOp>(op) || (cheap && isFree(op->getOperand(0)))) {
    freeValues.insert(op->getResult(0));
    return;
  }
  SmallVector<StringAttr> partial = keptPartial(op);
  if (!partial.empty() && !isUpdate(op)) {
    kept[op] = partial;
    assignments[op] = rules.assign(op, partial);
  }
  if (auto accumulate = dyn_cast<nn::AccumulateOp>(op)) {
    LayoutAttr found = layouts.lookup(accumulate.getValue());
    variables[accumulate.getVariable()] = found ? found : replicated(accumulate.getValue().getType());
  }
  for (Value result : op->getResults()) {
    LayoutAttr raw = resultLayout(result);
    rawLayouts[result] = raw;
    layouts[result] = reducedValues.contains(result) && raw.isPartial() ? reduced(result, raw) : raw;
  }
}

SmallVector<StringAttr> Layouts::keptPartial(Operation *op) const {
  if (!acceptsPartialOperands(op))
    return {};
  LayoutAttr first;
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(getElementTypeOrSelf(operand.getType())))
      continue;
    LayoutAttr other = layouts.lookup(operand);
    if (!other || !other.isPartial() || other.getPartialKinds().front().getValue() != "sum" ||
        (first && other.getPartialAxes() != first.getPartialAxes()))
      return {};
    first = other;
  }
  return first ? SmallVector<StringAttr>(first.getPartialAxes()) : SmallVector<StringAttr>();
}

LayoutAttr Layouts::resultLayout(Value result) const {
  Operation *op = result.getDefiningOp();
  if (auto read = dyn_cast<nn::ReadOp>(op))
    return variables.lookup(read.getVariable());
  if (isa<nn::SquareSumsOp>(op)) {
    LayoutAttr whole = replicated(result.getType());
    return dist::makeLayout(context, whole.getNames(), whole.getSizes(), SmallVector<SmallVector<StringAttr>>(whole.getNames().size()),
                            ownerAxes);
  }
  if (isUpdate(op)) {
    LayoutAttr layout = updated.lookup(op);
    return layout && layout.getNames() == nn::axesOf(result.getType()) ? layout : replicated(result.getType());
  }
  const Assignment &assignment = this->assignment(op);
  LayoutAttr layout = layoutFor(result.getType(), assignment);
  SmallVector<StringAttr> partial;
  for (StringAttr meshAxis : rules.mesh.getNames()) {
    StringAttr axis = assignment.axisOf(meshAxis);
    bool summed = axis && layout.dimOf(axis) < 0 && !llvm::is_contained(assignment.internal, axis);
    if (summed || llvm::is_contained(kept.lookup(op), meshAxis))
      partial.push_back(meshAxis);
  }
  SmallVector<StringAttr> kinds(partial.size(), StringAttr::get(context, isa<nn::MaxOp>(op) ? "max" : "sum"));
  return LayoutAttr::get(context, layout.getNames(), layout.getSizes(), layout.getSplits(), partial, kinds);
}

/// P4: reduced once for all uses; scattered where every use of the same phase wants the same dimension split (P6: others gather again).
LayoutAttr Layouts::reduced(Value value, LayoutAttr raw) const {
  SmallVector<LayoutAttr> near, all;
  for (OpOperand &use : value.getUses())
    if (LayoutAttr wants = wantedWhole(use)) {
      all.push_back(wants);
      if (phaseOf(use.getOwner()) == phaseOf(value.getDefiningOp()))
        near.push_back(wants);
    }
  ArrayRef<LayoutAttr> wants = near.empty() ? all : near;
  LayoutAttr target = raw.withoutPartial();
  for (StringAttr axis : raw.getPartialAxes())
    for (int64_t dim = 0, rank = raw.getNames().size(); !wants.empty() && dim < rank; ++dim) {
      SmallVector<StringAttr> splits = target.splitsOf(dim);
      splits.push_back(axis);
      bool agreed = raw.getSizes()[dim] % rules.mesh.sizeOf(splits) == 0 && llvm::all_of(wants, [&](LayoutAttr other) {
                      SmallVector<StringAttr> given = other.splitsOf(dim);
                      return given.size() >= splits.size() && std::equal(splits.begin(), splits.end(), given.begin());
                    });
      if (!agreed)
        continue;
      target = target.withSplits(dim, splits);
      break;
    }
  return target;
}

LayoutAttr Layouts::operandLayout(OpOperand &use, const Assignment &assignment) const {
  LayoutAttr layout = layoutFor(use.get().getType(), assignment);
  if (auto rename = dyn_cast<nn::RenameOp>(use.getOwner()))
    layout = layout.withSplits(layout.dimOf(rename.getFromAttr()), assignment.splitsOf(rename.getToAttr()));
  return layout;
}

LayoutAttr Layouts::wantedWhole(OpOperand &use) const {
  Operation *op = use.getOwner();
  Type type = use.get().getType();
  if (isa<nn::AccumulateOp, nn::SquareSumsOp>(op))
    return {};
  if (auto write = dyn_cast<nn::WriteOp>(op))
    return variables.lookup(write.getVariable());
  if (!isUpdate(op))
    return operandLayout(use, byRules.find(op)->second);
  LayoutAttr layout = updated.lookup(op);
  return layout && layout.getNames() == nn::axesOf(type) ? layout : replicated(type);
}

LayoutAttr Layouts::wanted(OpOperand &use) const {
  auto found = kept.find(use.getOwner());
  if (found == kept.end() || isa<nn::AccumulateOp>(use.getOwner()))
    return wantedWhole(use);
  LayoutAttr layout = operandLayout(use, assignment(use.getOwner()));
  SmallVector<StringAttr> kinds(found->second.size(), StringAttr::get(context, "sum"));
  return LayoutAttr::get(context, layout.getNames(), layout.getSizes(), layout.getSplits(), found->second, kinds);
}

bool Layouts::acceptsPartial(OpOperand &use) const { return isa<nn::AccumulateOp>(use.getOwner()) || kept.contains(use.getOwner()); }

Operation *Layouts::originOfPartial(Value value) const {
  Operation *op = value.getDefiningOp();
  while (kept.contains(op)) {
    auto partial = llvm::find_if(op->getOperands(), [&](Value operand) { return layout(operand) && layout(operand).isPartial(); });
    op = (*partial).getDefiningOp();
  }
  return op;
}

} // namespace npar::place
