// Derives the layouts of all values from the rules; see Layouts.h for the order of decisions.
#include "compiler/passes/place/Layouts.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/place/LocalWindows.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

nn::Phase phaseOf(Operation *op) {
  auto at = nn::getAt(op);
  return at ? at.getPhase() : nn::Phase::Forward;
}

bool acceptsPartialOperands(Operation *op) {
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  return shardable && shardable.isLinear();
}

/// Returns whether an operand is a number that can be summed. An index is not; it must be complete wherever it is used.
static bool isSummand(Value operand) { return isa<FloatType>(getElementTypeOrSelf(operand.getType())); }

/// The axes of a tensor, also once its type is local and perhaps flat.
static ArrayRef<StringAttr> logicalAxesOf(Type type) {
  LayoutAttr layout = dist::layoutOf(type);
  return layout ? layout.getNames() : nn::axesOf(type);
}

Layouts::Layouts(ModuleOp module, Rules &rules, const Stores &stores)
    : module(module), symbols(module), context(module.getContext()), rules(rules), stores(stores) {
  collect();
  pairCopies();
}

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

void Layouts::pairCopies() {
  DenseMap<int64_t, Operation *> first;
  for (Operation *op : ops)
    if (auto number = op->getAttrOfType<IntegerAttr>(nn::recomputeAttribute))
      if (auto [entry, isNew] = first.try_emplace(number.getInt(), op); !isNew)
        for (auto [copy, original] : llvm::zip(op->getResults(), entry->second->getResults()))
          originals[copy] = original;
}

LogicalResult Layouts::derive() {
  StringAttr batch = StringAttr::get(context, "batch");
  for (Operation *op : ops)
    if (!isUpdate(op))
      byRules[op] = rules.assign(op, {}, isa<nn::InputOp>(op) ? batch : StringAttr());
  bool good = succeeded(rules.check()) && succeeded(checkRings());
  if (failed(stores.check()) || !good || failed(placeParameters()))
    return failure();
  placeInputs();
  placeUpdate();
  for (bool changed = true; changed;) {
    sweep();
    changed = false;
    for (Operation *op : ops)
      for (Value result : op->getResults()) {
        if (isReducedFor(result))
          changed |= reducedValues.insert(result).second;
        Value original = originals.lookup(result);
        if (original && (reducedValues.contains(result) || reducedValues.contains(original)))
          changed |= reducedValues.insert(original).second | reducedValues.insert(result).second;
      }
  }
  return success();
}

/// Checks that autodiff built attention in the form that the rules now ask for.
LogicalResult Layouts::checkRings() const {
  for (Operation *op : ops) {
    auto attention = dyn_cast<nn::AttentionOp>(op);
    ArrayRef<StringAttr> splits = attention ? byRules.find(op)->second.splitsOf(attention.getSeqAttr()) : ArrayRef<StringAttr>();
    if (!splits.empty() && rules.rule(byRules.find(op)->second.ruleOf(splits.front())).getBy() != "gather" && !attention.getRing())
      return op->emitOpError("goes round a ring by the rules but is not marked: run 'place-mark-attention' before autodiff");
  }
  return success();
}

bool Layouts::isReducedFor(Value value) const {
  LayoutAttr found = layouts.lookup(value);
  return found && found.isPartial() && !llvm::all_of(value.getUses(), [&](OpOperand &use) { return acceptsPartial(use); });
}

LayoutAttr Layouts::layoutFor(Type type, const Assignment &assignment, llvm::function_ref<StringAttr(StringAttr)> loopOf) const {
  SmallVector<StringAttr> names(logicalAxesOf(type));
  SmallVector<int64_t> sizes;
  SmallVector<SmallVector<StringAttr>> splits;
  for (StringAttr name : names) {
    int64_t known = rules.sizeOf(name); // of what ops compute: no op reads the parameters of a loss that a program leaves out
    sizes.push_back(known >= 0 ? known : nn::sizeOf(type, name));
    splits.emplace_back(assignment.splitsOf(loopOf ? loopOf(name) : name));
  }
  return dist::makeLayout(context, names, sizes, splits);
}

LayoutAttr Layouts::common(ArrayRef<LayoutAttr> layouts) {
  LayoutAttr result = layouts.front();
  for (size_t dim = 0; dim < result.getNames().size(); ++dim) {
    SmallVector<StringAttr> shared = result.splitsOf(dim);
    for (LayoutAttr other : layouts.drop_front()) {
      SmallVector<StringAttr> splits = other.splitsOf(dim);
      size_t length = 0;
      while (length < std::min(shared.size(), splits.size()) && shared[length] == splits[length])
        ++length;
      shared.truncate(length);
    }
    result = result.withSplits(dim, shared);
  }
  return result;
}

/// A data buffer holds what all its uses on a rank have in common: the engine fills in just that, and nothing is ever sent. Its rows are
/// the rank's share of the batch, whatever the uses say (RULES.md#P10).
void Layouts::placeInputs() {
  StringAttr batch = StringAttr::get(context, "batch");
  llvm::StringMap<SmallVector<LayoutAttr>> uses;
  for (Operation *op : ops)
    if (auto input = dyn_cast<nn::InputOp>(op); input && !isUpdate(op))
      for (OpOperand &use : input.getResult().getUses())
        if (LayoutAttr wants = wantedWhole(use))
          uses[input.getName()].push_back(wants);
  for (Operation *op : ops)
    if (auto input = dyn_cast<nn::InputOp>(op); input && !isUpdate(op) && !inputs.count(input.getName())) {
      LayoutAttr rows = layoutFor(input.getType(), byRules.find(op)->second);
      ArrayRef<LayoutAttr> wants = uses[input.getName()];
      LayoutAttr layout = wants.empty() ? rows : common(wants);
      if (int64_t dim = layout.dimOf(batch); dim >= 0) {
        SmallVector<StringAttr> taken = rows.splitsOf(dim);
        for (int64_t other = 0, rank = layout.getNames().size(); other < rank; ++other) {
          SmallVector<StringAttr> splits = layout.splitsOf(other);
          splits.truncate(llvm::find_if(splits, [&](StringAttr axis) { return llvm::is_contained(taken, axis); }) - splits.begin());
          layout = layout.withSplits(other, splits);
        }
        layout = layout.withSplits(dim, taken);
      }
      inputs[input.getName()] = layout;
    }
}

/// RULES.md#P7: a dimension is split as far as all uses agree; what is left is stored flat.
LogicalResult Layouts::placeParameters() {
  llvm::StringMap<SmallVector<LayoutAttr>> uses;
  for (Operation *op : ops)
    if (auto read = dyn_cast<nn::ReadOp>(op); read && !isUpdate(op))
      for (OpOperand &use : read.getResult().getUses())
        if (LayoutAttr wants = wantedWhole(use))
          uses[read.getVariable()].push_back(wants);
  auto variableOps = llvm::to_vector(module.getOps<nn::VariableOp>());
  SmallVector<std::pair<nn::VariableOp, LayoutAttr>> parameters;
  for (nn::VariableOp variable : variableOps) {
    ArrayRef<LayoutAttr> wants = uses[nn::pathOf(variable)];
    LayoutAttr layout = wants.empty() ? replicated(variable.getType()) : common(wants);
    variables[nn::pathOf(variable)] = layout;
    if (!variable.isKind(nn::VariableKind::Parameter))
      continue;
    if (!variable.getUntrained())
      parameters.emplace_back(variable, layout);
    updates[nn::pathOf(variable)] = layout;
    if (layout.getNames().empty() || variable.getUntrained()) // one element has no shares; a state has no optimizer
      continue;
    variables[nn::pathOf(variable)] = layout.withFlat(stores.parameters(layout));
    updates[nn::pathOf(variable)] = layout.withFlat(stores.optimizer(layout));
  }
  for (nn::VariableOp variable : variableOps)
    if (variable.isKind(nn::VariableKind::State) && variable.getOf())
      variables[nn::pathOf(variable)] = updates.lookup(*variable.getOf());
  return stores.check(parameters);
}

LayoutAttr Layouts::updateLayout(Value operand) const {
  Operation *definition = operand.getDefiningOp();
  auto read = dyn_cast<nn::ReadOp>(definition);
  if (!read)
    return updated.lookup(definition);
  auto variable = nn::findVariable(symbols, read.getVariable());
  return updates.lookup(variable && variable.getOf() ? *variable.getOf() : read.getVariable());
}

/// Operations of @update work in the layout of their parameter; square sums are added over all ranks that own different elements.
void Layouts::placeUpdate() {
  for (Operation *op : ops) {
    if (!isUpdate(op) || isa<nn::SquareSumsOp>(op) || op->hasAttr(nn::ofWholeAttribute))
      continue;
    for (Value operand : op->getOperands())
      if (LayoutAttr layout = updateLayout(operand)) {
        updated[op] = layout;
        break;
      }
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
  if (nn::isFree(op)) {
    freeValues.insert(op->getResult(0));
    return;
  }
  if (SmallVector<StringAttr> partial = keptPartial(op); !partial.empty() && !isUpdate(op))
    if (Assignment assignment = rules.assign(op, partial); !wantsOtherIndices(op, assignment) && !repeatsForRanks(op, partial)) {
      kept[op] = partial;
      assignments[op] = assignment;
    }
  if (auto accumulate = dyn_cast<nn::AccumulateOp>(op)) {
    LayoutAttr found = layouts.lookup(accumulate.getValue());
    if (!found)
      found = replicated(accumulate.getValue().getType());
    auto variable = nn::findVariable(symbols, accumulate.getVariable());
    variables[accumulate.getVariable()] = variable && variable.getOf() ? accumulated(found, updates.lookup(*variable.getOf())) : found;
  }
  for (Value result : op->getResults()) {
    LayoutAttr raw = resultLayout(result);
    rawLayouts[result] = raw;
    Value original = originals.lookup(result);
    bool isReduced = reducedValues.contains(result) && raw.isPartial();
    layouts[result] = !isReduced ? raw : original ? layouts.lookup(original) : reduced(result, raw);
  }
}

LayoutAttr Layouts::accumulated(LayoutAttr gradient, LayoutAttr update) const {
  SmallVector<StringAttr> axes;
  for (StringAttr axis : stores.gradients(gradient))
    if (llvm::is_contained(update.getFlatAxes(), axis))
      axes.push_back(axis);
  return dist::withoutPartial(gradient, axes).withFlat(axes);
}

bool Layouts::repeatsForRanks(Operation *op, ArrayRef<StringAttr> partial) {
  if (!isa<nn::BroadcastOp>(op))
    return false;
  const Assignment complete = rules.assign(op);
  return llvm::any_of(partial, [&](StringAttr meshAxis) { return static_cast<bool>(complete.axisOf(meshAxis)); });
}

SmallVector<StringAttr> Layouts::keptPartial(Operation *op) const {
  if (!acceptsPartialOperands(op))
    return {};
  LayoutAttr first;
  for (Value operand : op->getOperands()) {
    if (!isSummand(operand))
      continue;
    LayoutAttr other = layouts.lookup(operand);
    if (isa_and_nonnull<nn::ReadOp>(operand.getDefiningOp())) // a sum over a step (RULES.md#N12), before it is repeated for each sample
      return {};
    if (!other || !other.isPartial() || other.getReduction() != program::ReduceOp::Sum ||
        (first && other.getPartialAxes() != first.getPartialAxes()))
      return {};
    first = other;
  }
  return first ? SmallVector<StringAttr>(first.getPartialAxes()) : SmallVector<StringAttr>();
}

bool Layouts::wantsOtherIndices(Operation *op, const Assignment &assignment) const {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &use) {
    return !isSummand(use.get()) && operandLayout(use, assignment) != operandLayout(use, byRules.find(op)->second);
  });
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
    return layout && layout.getNames() == logicalAxesOf(result.getType()) ? layout : replicated(result.getType());
  }
  if (auto input = dyn_cast<nn::InputOp>(op))
    return inputs.lookup(input.getName());
  if (auto checkpoint = dyn_cast<nn::CheckpointOp>(op))
    return layouts.lookup(checkpoint.getKept());
  const Assignment &assignment = this->assignment(op);
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  auto loopOf = [&](StringAttr axis) { return shardable ? shardable.loopOfResult(cast<OpResult>(result).getResultNumber(), axis) : axis; };
  LayoutAttr layout = layoutFor(result.getType(), assignment, loopOf);
  SmallVector<StringAttr> partial;
  for (StringAttr meshAxis : rules.mesh.getNames()) {
    StringAttr axis = assignment.axisOf(meshAxis);
    bool walked = llvm::any_of(layout.getNames(), [&](StringAttr name) { return loopOf(name) == axis; });
    bool summed = axis && !walked && !llvm::is_contained(assignment.internal, axis) && !layout.splitsOver(meshAxis);
    if (summed || llvm::is_contained(kept.lookup(op), meshAxis))
      partial.push_back(meshAxis);
  }
  if (partial.empty())
    return layout;
  std::optional<program::ReduceOp> reduction = kept.contains(op) ? program::ReduceOp::Sum : shardable.getReduction();
  if (!reduction)
    llvm::report_fatal_error("internal error: nothing joins the parts of an op's result");
  return LayoutAttr::get(context, layout.getNames(), layout.getSizes(), layout.getSplits(), partial, *reduction);
}

/// RULES.md#P4: reduced once for all uses; scattered where every use of the same phase wants the same dimension split (RULES.md#P6: others
/// gather again).
LayoutAttr Layouts::reduced(Value value, LayoutAttr raw) const {
  SmallVector<LayoutAttr> near, all;
  for (OpOperand &use : value.getUses())
    if (LayoutAttr wants = wantedWhole(use)) {
      all.push_back(wants);
      if (phaseOf(use.getOwner()) == phaseOf(value.getDefiningOp()))
        near.push_back(wants);
    }
  return scattered(raw, near.empty() ? all : near);
}

LayoutAttr Layouts::scattered(LayoutAttr raw, ArrayRef<LayoutAttr> wants) const {
  LayoutAttr target = raw.withoutPartial();
  if (raw.isFlat() || wants.empty())
    return target;
  ArrayRef<StringAttr> flat = wants.front().getFlatAxes();
  bool same = llvm::all_of(wants, [&](LayoutAttr other) { return other.getFlatAxes() == flat; });
  if (same && llvm::none_of(flat, [&](StringAttr axis) { return raw.splitsOver(axis); }))
    target = target.withFlat(flat);
  if (target.isFlat())
    return target;
  for (StringAttr axis : raw.getPartialAxes())
    for (int64_t dim = 0, rank = raw.getNames().size(); dim < rank; ++dim) {
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
  auto shardable = dyn_cast<nn::ShardableOpInterface>(use.getOwner());
  LayoutAttr layout = layoutFor(use.get().getType(), assignment,
                                [&](StringAttr axis) { return shardable ? shardable.loopOfOperand(use.getOperandNumber(), axis) : axis; });
  auto windows = dyn_cast<nn::WindowsOp>(use.getOwner());
  return windows ? withHalos(windows, layout, assignment) : layout;
}

LayoutAttr Layouts::withHalos(nn::WindowsOp windows, LayoutAttr layout, const Assignment &assignment) const {
  Operation *definition = windows.getX().getDefiningOp();
  if (nn::isFetched(definition) || nn::isFree(definition)) // data are never sent
    return layout;
  for (unsigned i = 0; i < windows.getOver().size(); ++i) {
    ArrayRef<StringAttr> splits = assignment.splitsOf(windows.toAt(i));
    int64_t dim = layout.dimOf(windows.overAt(i)), positions = rules.sizeOf(windows.toAt(i));
    if (!splits.empty() && isExchanged(windows, i, layout.getSizes()[dim], positions, rules.mesh.sizeOf(splits)))
      layout = layout.withSplits(dim, splits);
  }
  return layout;
}

/// Returns whether an axis with the first splits gets the others by slices or gathers alone, and is not whole before or in between.
static bool areNested(ArrayRef<StringAttr> found, ArrayRef<StringAttr> wanted) {
  size_t shared = std::min(found.size(), wanted.size());
  return shared > 0 && found.take_front(shared) == wanted.take_front(shared);
}

LayoutAttr Layouts::withoutCuts(OpOperand &use, LayoutAttr wants) const {
  LayoutAttr found = layouts.lookup(use.get());
  if (auto windows = dyn_cast<nn::WindowsOp>(use.getOwner()); windows && found && !found.isFlat())
    for (auto over : windows.getOver().getAsRange<StringAttr>())
      if (int64_t dim = wants.dimOf(over); !areNested(found.splitsOf(dim), wants.splitsOf(dim)))
        wants = wants.withSplits(dim, {});
  return wants;
}

LayoutAttr Layouts::wantedWhole(OpOperand &use) const {
  Operation *op = use.getOwner();
  Type type = use.get().getType();
  if (isa<nn::AccumulateOp, nn::SquareSumsOp, nn::CheckpointOp>(op))
    return {};
  if (auto write = dyn_cast<nn::WriteOp>(op))
    return variables.lookup(write.getVariable());
  if (!isUpdate(op))
    return operandLayout(use, byRules.find(op)->second);
  LayoutAttr layout = updated.lookup(op);
  return layout && layout.getNames() == logicalAxesOf(type) ? layout : replicated(type);
}

LayoutAttr Layouts::wanted(OpOperand &use) const {
  if (auto accumulate = dyn_cast<nn::AccumulateOp>(use.getOwner()))
    if (LayoutAttr stored = variables.lookup(accumulate.getVariable()); stored && stored.isFlat())
      return stored;
  if (auto checkpoint = dyn_cast<nn::CheckpointOp>(use.getOwner()))
    return layouts.lookup(checkpoint.getKept());
  auto found = kept.find(use.getOwner());
  if (found == kept.end() || isa<nn::AccumulateOp>(use.getOwner()))
    return withoutCuts(use, wantedWhole(use));
  LayoutAttr layout = withoutCuts(use, operandLayout(use, assignment(use.getOwner())));
  if (!isSummand(use.get()))
    return layout;
  return LayoutAttr::get(context, layout.getNames(), layout.getSizes(), layout.getSplits(), found->second, program::ReduceOp::Sum);
}

bool Layouts::acceptsPartial(OpOperand &use) const {
  return isa<nn::AccumulateOp>(use.getOwner()) || (isSummand(use.get()) && kept.contains(use.getOwner()));
}

Operation *Layouts::originOfPartial(Value value) const {
  Operation *op = value.getDefiningOp();
  while (kept.contains(op)) {
    Operation *origin = nullptr;
    for (Value operand : op->getOperands()) {
      // Operands of ops that were already rewritten are behind reshards and halos.
      while (isa_and_nonnull<dist::ReshardOp, dist::HaloOp>(operand.getDefiningOp()))
        operand = operand.getDefiningOp()->getOperand(0);
      if (LayoutAttr found = layout(operand); !origin && found && found.isPartial())
        origin = operand.getDefiningOp();
    }
    if (!origin)
      return op;
    op = origin;
  }
  return op;
}

} // namespace npar::place
