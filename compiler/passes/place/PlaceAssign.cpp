// Rewrites the global program to local types by the decided layouts, with dist.reshard where definition and use differ.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/dist/Cause.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/place/Layouts.h"
#include "compiler/passes/place/LocalWindows.h"
#include "compiler/passes/place/Place.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using npar::dist::LayoutAttr;

namespace npar::place {

#define GEN_PASS_DEF_PLACEASSIGN
#include "compiler/passes/place/Passes.h.inc"

namespace {

class Rewriter {
public:
  Rewriter(ModuleOp module, Rules &rules, const Stores &stores, Layouts &layouts)
      : module(module), symbols(module), rules(rules), stores(stores), layouts(layouts), mesh(rules.mesh), builder(module.getContext()) {
    for (Operation *op : layouts.operations())
      if (auto accumulate = dyn_cast<nn::AccumulateOp>(op))
        accumulated[accumulate.getVariable()] = accumulate.getValue();
  }

  void run() {
    for (Operation *op : layouts.operations())
      place(op);
    for (Operation *op : llvm::reverse(layouts.operations()))
      if (op->getNumResults() == 1 && layouts.isFree(op->getResult(0)))
        op->erase();
    for (auto variable : module.getOps<nn::VariableOp>()) {
      auto type = cast<RankedTensorType>(variable.getType());
      variable.setType(dist::localType(type.getElementType(), layouts.variable(nn::pathOf(variable)), mesh));
    }
  }

private:
  void place(Operation *op) {
    if (op->getNumResults() == 1 && layouts.isFree(op->getResult(0)))
      return;
    SmallVector<Value> operands;
    for (OpOperand &use : op->getOpOperands())
      if (!isa<nn::RenameOp>(op) || use.getOperandNumber() == 0) // its ends are for the reshard before it
        operands.push_back(operandFor(use));
    op->setOperands(operands);
    for (Value result : op->getResults())
      if (LayoutAttr raw = layouts.raw(result))
        result.setType(dist::localType(cast<RankedTensorType>(result.getType()).getElementType(), raw, mesh));
    if (auto sums = dyn_cast<nn::SquareSumsOp>(op))
      nameOwners(sums);
    if (auto windows = dyn_cast<nn::WindowsOp>(op))
      makeLocal(windows);
    for (Value result : op->getResults())
      if (LayoutAttr raw = layouts.raw(result); raw && raw != layouts.layout(result))
        reduce(result);
  }

  Value operandFor(OpOperand &use) {
    Value value = use.get();
    LayoutAttr wants = layouts.wanted(use);
    if (layouts.isFree(value))
      return materializeFor(use, wants ? wants : layouts.replicated(value.getType()));
    LayoutAttr found = layouts.layout(value);
    Value current = reduced.count(value) ? reduced.lookup(value) : value;
    if (!wants || !found || wants == found)
      return current;
    return reshard(value, current, wants, use.getOwner());
  }

  /// Gives windows whose positions are split the entries that this rank's positions need.
  void makeLocal(nn::WindowsOp windows) {
    for (unsigned i = 0; i < windows.getOver().size(); ++i) {
      LayoutAttr layout = dist::layoutOf(windows.getType());
      SmallVector<StringAttr> splits = layout.splitsOf(layout.dimOf(windows.toAt(i)));
      if (splits.empty())
        continue;
      Cause cause(program::CauseKind::PassesRound, windows);
      cause.add(windows.overAt(i), ruleText(layouts.assignment(windows), splits.front(), cause));
      dist::HaloOp halo = place::makeLocal(windows, i, splits, dist::attributeOf(builder.getContext(), cause.why));
      if (halo && !cause.rules.empty())
        attributes::causingRules.set(halo, cause.rules);
    }
  }

  /// A flat piece is cut from the whole value: beyond its end there must be zeros.
  Value materializeFor(OpOperand &use, LayoutAttr wants) {
    Value value = materialize(use.get(), wants.withFlat({}), use.getOwner());
    return wants.isFlat() ? create(use.getOwner(), value, wants, causeOfUse(use.get(), wants, use.getOwner())) : value;
  }

  /// A copy of a free value where it is used: it costs nothing and crosses neither phases nor stages.
  Value materialize(Value value, LayoutAttr wants, Operation *user) {
    Value &copy = copies[{value, wants, nn::getAt(user)}];
    if (copy)
      return copy;
    Operation *definition = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : definition->getOperands())
      operands.push_back(materialize(operand, narrowed(definition, operand, wants), user));
    builder.setInsertionPoint(user);
    Operation *clone = builder.clone(*definition);
    clone->setOperands(operands);
    clone->getResult(0).setType(dist::localType(cast<RankedTensorType>(value.getType()).getElementType(), wants, mesh));
    nn::setAt(clone, nn::getAt(user));
    // The map may have grown meanwhile.
    return copies[{value, wants, nn::getAt(user)}] = clone->getResult(0);
  }

  /// The splits of `wants` on the axes that a value has.
  LayoutAttr narrowed(Operation *op, Value value, LayoutAttr wants) {
    LayoutAttr layout = layouts.replicated(value.getType());
    auto rename = dyn_cast<nn::RenameOp>(op);
    for (auto [dim, name] : llvm::enumerate(layout.getNames()))
      if (int64_t other = wants.dimOf(rename && rename.getFromAttr() == name ? rename.getToAttr() : name); other >= 0)
        layout = layout.withSplits(dim, wants.splitsOf(other));
    return layout;
  }

  int64_t elements(LayoutAttr layout) {
    int64_t product = 1;
    for (int64_t size : layout.localShape(mesh))
      product *= size;
    return product;
  }

  /// Equal reshards are shared within a phase. What does not get larger moves after the definition and is what the other phase keeps; what
  /// gets larger is repeated in the other phase (RULES.md#P6).
  Value reshard(Value value, Value current, LayoutAttr wants, Operation *user) {
    Operation *definition = value.getDefiningOp();
    if (auto read = dyn_cast<nn::ReadOp>(definition); read && !isUpdate(user))
      if (std::optional<SmallVector<StringAttr>> axes = stores.secondary(layouts.layout(value)))
        return gather(read, wants, *axes, user);
    bool refetched = isa<nn::ReadOp, nn::InputOp>(definition);
    auto rename = dyn_cast<nn::RenameOp>(user);
    bool hasEnds = rename && rename.getEnds(); // which may be computed after the rows
    bool narrows = !refetched && !hasEnds && elements(wants) <= elements(layouts.layout(value));
    Operation *place = narrows ? definition : user;
    Value &shared = reshards[{value, wants, int(phaseOf(place))}];
    if (shared)
      return shared;
    if (narrows)
      builder.setInsertionPointAfter(current.getDefiningOp());
    else
      builder.setInsertionPoint(user);
    Value moved = create(place, current, wants, causeOfUse(value, wants, user));
    if (hasEnds)
      addEnds(moved.getDefiningOp<dist::ReshardOp>(), rename);
    return reshards[{value, wants, int(phaseOf(place))}] = moved; // the map may have grown meanwhile
  }

  /// A parameter with a second share over `axes`: the forward gathers the first share and cuts the second one from it, which the backward
  /// gathers. A phase that gathers before any forward takes the first share.
  Value gather(nn::ReadOp read, LayoutAttr wants, ArrayRef<StringAttr> axes, Operation *user) {
    Value value = read.getResult();
    LayoutAttr whole = layouts.layout(value).withFlat({});
    Key forward{value, whole, int(nn::Phase::Forward)};
    builder.setInsertionPoint(user);
    auto shared = [&](Value from, LayoutAttr layout, const Cause &cause) {
      if (layout == dist::layoutOf(from))
        return from;
      Value &known = reshards[{value, layout, int(phaseOf(user))}];
      return known ? known : known = create(user, from, layout, cause);
    };
    if (phaseOf(user) != nn::Phase::Backward || !reshards.count(forward))
      return shared(shared(value, whole, causeOfUse(value, wants, user)), wants, causeOfUse(value, wants, user));
    Value second = secondShares.lookup(value);
    if (!second) {
      Operation *gathered = reshards.lookup(forward).getDefiningOp();
      builder.setInsertionPointAfter(gathered);
      LayoutAttr cut = whole.withFlat(axes);
      second = cut == whole ? gathered->getResult(0) : create(gathered, gathered->getResult(0), cut, causeOfSecond(read, user));
      secondShares[value] = second;
      builder.setInsertionPoint(user);
    }
    return shared(second, wants, causeOfSecond(read, user));
  }

  /// Lets existing rows move alone: their ends come in the layouts of the rows before and after. Not if the axes before the rows are not
  /// those of the ends.
  void addEnds(dist::ReshardOp reshard, nn::RenameOp rename) {
    Value ends = rename.getEnds();
    StringAttr entries = rename.getEntriesAttr();
    SmallVector<StringAttr> before(nn::axesOf(ends.getType()));
    bool isLast = before.back() == entries;
    before.back() = rename.getFromAttr();
    ArrayRef<StringAttr> axes = nn::axesOf(reshard.getType());
    if (!isLast || axes.size() < before.size() || axes.take_front(before.size()) != ArrayRef<StringAttr>(before))
      return;
    for (Value rows : {Value(reshard.getInput()), Value(reshard.getResult())}) {
      LayoutAttr layout = layouts.layout(ends), like = dist::layoutOf(rows);
      for (auto [dim, axis] : llvm::enumerate(before))
        layout = layout.withSplits(dim, like.splitsOf(like.dimOf(axis)));
      reshard.getEndsMutable().append(endsIn(ends, layout, rename));
    }
    reshard.setPlaces(rename.getPlaces());
    reshard.setFilled(rename.getFilled());
  }

  /// The ends of rows in another layout, after their definition.
  Value endsIn(Value ends, LayoutAttr wants, Operation *user) {
    Value current = reduced.count(ends) ? reduced.lookup(ends) : ends;
    if (wants == layouts.layout(ends))
      return current;
    Operation *definition = ends.getDefiningOp();
    Value &shared = reshards[{ends, wants, int(phaseOf(definition))}];
    if (shared)
      return shared;
    builder.setInsertionPointAfter(current.getDefiningOp());
    return shared = create(definition, current, wants, causeOfUse(ends, wants, user));
  }

  /// Reduces a value after its definition, once for all uses (RULES.md#P4). A reduced gradient goes back to its accumulator, so that it
  /// needs no other memory.
  void reduce(Value value) {
    Operation *definition = value.getDefiningOp();
    builder.setInsertionPointAfter(definition);
    LayoutAttr raw = layouts.raw(value), target = layouts.layout(value);
    Value result = value;
    if (!raw.isFlat() && target.isFlat() && mixes(raw, target))
      result = create(definition, result, raw.withoutPartial(), causeOfReduction(value));
    result = reduced[value] = create(definition, result, target, causeOfReduction(value));
    auto read = dyn_cast<nn::ReadOp>(definition);
    if (!read)
      return;
    auto variable = nn::findVariable(symbols, read.getVariable());
    if (!variable || !variable.isKind(nn::VariableKind::Accumulator) || !variable.getOf())
      return;
    // A share can be as long as the whole: the first rank's of one block.
    bool same = target.isFlat() == raw.isFlat() &&
                cast<RankedTensorType>(result.getType()).getShape() == cast<RankedTensorType>(value.getType()).getShape();
    auto write = nn::WriteOp::create(builder, definition->getLoc(), read.getVariable(), result);
    nn::setAt(write, nn::getAt(definition));
    if (same)
      return;
    // Another piece than what was accumulated: the accumulator holds it from here on.
    variable.setReduced(cast<RankedTensorType>(result.getType()));
    auto again = nn::ReadOp::create(builder, definition->getLoc(), result.getType(), read.getVariable());
    nn::setAt(again, nn::getAt(definition));
    reduced[value] = again.getResult();
  }

  /// Returns whether a gradient is partial both over axes of the batch among which it is scattered and over other axes (as that of a norm
  /// under sequence parallelism). A single all_reduce then adds in the same order as without the store rule; scattering over some of the
  /// axes would not.
  bool mixes(LayoutAttr raw, LayoutAttr target) {
    SmallVector<StringAttr> batch = rules.batchAxes();
    return llvm::any_of(raw.getPartialAxes(), [&](StringAttr axis) { return llvm::is_contained(target.getFlatAxes(), axis); }) &&
           llvm::any_of(raw.getPartialAxes(), [&](StringAttr axis) {
             return !llvm::is_contained(target.getFlatAxes(), axis) && !llvm::is_contained(batch, axis);
           });
  }

  /// Why a reshard is there, and the lines of the rules that have a part in it.
  struct Cause {
    program::CauseT why;
    SmallVector<Attribute> rules;

    explicit Cause(program::CauseKind kind, Operation *asks = nullptr) {
      why.kind = kind;
      if (asks)
        why.operation = asks->getName().stripDialect().str();
    }
    /// Adds an axis of the model and the rule that splits it, if any.
    void add(StringAttr axis, std::string rule) {
      why.axes.push_back(std::make_unique<program::CauseAxisT>());
      why.axes.back()->axis = axis ? axis.str() : "";
      why.axes.back()->rule = std::move(rule);
    }
    void list(Attribute rule) {
      if (rule && !llvm::is_contained(rules, rule))
        rules.push_back(rule);
    }
  };

  Value create(Operation *place, Value from, LayoutAttr layout, const Cause &cause) {
    Type type = dist::localType(cast<RankedTensorType>(from.getType()).getElementType(), layout, mesh);
    auto op = dist::ReshardOp::create(builder, place->getLoc(), type, from, ValueRange(), 0, APFloat(1.0),
                                      dist::attributeOf(builder.getContext(), cause.why));
    if (!cause.rules.empty())
      attributes::causingRules.set(op, cause.rules);
    if (auto at = nn::getAt(place))
      nn::setAt(op, at);
    return op.getResult();
  }

  /// Ranks that count a gradient's squares: coordinate 0 along the mesh axes that replicate it; the pipeline's axis is the schedule's
  /// business.
  void nameOwners(nn::SquareSumsOp sums) {
    auto pipeline = attributes::pipelineAxis.get(module);
    SmallVector<Attribute> owners;
    for (Value gradient : sums->getOperands()) {
      SmallVector<StringAttr> zero;
      for (StringAttr axis : layouts.squareSumAxes())
        if (axis != pipeline && !dist::layoutOf(gradient).splitsOver(axis))
          zero.push_back(axis);
      owners.push_back(dist::stringArray(module.getContext(), zero));
    }
    attributes::owners.set(sums, owners);
  }

  /// `head -> tp`, which the cause then lists; empty when no rule took the mesh axis.
  std::string ruleText(const Assignment &assignment, StringAttr meshAxis, Cause &cause) {
    int index = assignment.ruleOf(meshAxis);
    if (index < 0)
      return "";
    dist::RuleAttr rule = rules.rule(index);
    cause.list(namedRule(rule));
    return rule.text();
  }

  /// The rules by which ranks own different parameters.
  void nameSplits(Cause &cause) {
    for (StringAttr axis : layouts.squareSumAxes()) {
      for (dist::RuleAttr rule : attributes::rules.get(module))
        if (rule.getAxis().getValue() != "batch" && llvm::is_contained(rule.getMesh(), axis))
          cause.list(namedRule(rule));
      if (stores.dealsOptimizer(axis))
        cause.list(stores.named("optimizer"));
    }
  }

  Cause causeOfReduction(Value value) {
    Operation *origin = layouts.originOfPartial(value);
    if (auto read = dyn_cast<nn::ReadOp>(origin))
      return causeOfAccumulated(value, read);
    if (isa<nn::SquareSumsOp>(origin)) {
      Cause cause(program::CauseKind::AddsOwned, origin);
      nameSplits(cause);
      return cause;
    }
    bool sums = layouts.raw(value).getReduction() == program::ReduceOp::Sum;
    Cause cause(sums ? program::CauseKind::SumsOverSplit : program::CauseKind::ReducesSplit, origin);
    const Assignment &assignment = layouts.assignment(origin);
    for (StringAttr axis : layouts.raw(value).getPartialAxes())
      cause.add(assignment.axisOf(axis), ruleText(assignment, axis, cause));
    return cause;
  }

  Cause causeOfAccumulated(Value value, nn::ReadOp read) {
    Cause cause(program::CauseKind::Accumulated);
    cause.why.variable = read.getVariable().str();
    if (layouts.layout(value).isFlat())
      setStore(cause, "optimizer");
    Value added = accumulated.lookup(read.getVariable());
    Operation *origin = added ? layouts.originOfPartial(added) : nullptr;
    if (!origin)
      return cause;
    const Assignment &assignment = layouts.assignment(origin);
    for (StringAttr axis : layouts.raw(value).getPartialAxes()) {
      std::string rule = ruleText(assignment, axis, cause);
      if (StringAttr loop = assignment.axisOf(axis))
        cause.add(loop, rule);
    }
    return cause;
  }

  Cause causeOfUse(Value value, LayoutAttr wants, Operation *user) {
    LayoutAttr found = layouts.layout(value);
    if (wants.isFlat() || (found && found.isFlat()))
      return causeOfStore(value, user);
    for (auto [dim, axis] : llvm::enumerate(wants.getNames())) {
      for (StringAttr meshAxis : wants.splitsOf(dim))
        if (!llvm::is_contained(found.splitsOf(dim), meshAxis) && !isUpdate(user)) {
          Cause cause(program::CauseKind::WantsSplit, user);
          cause.add(axis, ruleText(layouts.assignment(user), meshAxis, cause));
          return cause;
        }
      for (StringAttr meshAxis : found.splitsOf(dim))
        if (!llvm::is_contained(wants.splitsOf(dim), meshAxis)) {
          Cause cause(program::CauseKind::WantsWhole, user);
          cause.add(axis, isUpdate(user) ? "" : ruleText(layouts.assignment(user), meshAxis, cause));
          cause.why.mesh_axis = meshAxis.str();
          addPositions(cause, user, axis);
          for (Attribute rule : namedRules(value.getDefiningOp(), axis, meshAxis)) // what split it before
            cause.list(rule);
          return cause;
        }
    }
    return Cause(program::CauseKind::WantsOrder, user);
  }

  /// Names the positions of windows whose pieces need most of an axis, so that it is gathered.
  void addPositions(Cause &cause, Operation *user, StringAttr axis) {
    auto windows = dyn_cast<nn::WindowsOp>(user);
    for (unsigned i = 0; windows && i < windows.getOver().size(); ++i) {
      ArrayRef<StringAttr> splits = layouts.assignment(user).splitsOf(windows.toAt(i));
      if (windows.overAt(i) == axis && !splits.empty() &&
          !isExchanged(windows, i, rules.sizeOf(axis), rules.sizeOf(windows.toAt(i)), mesh.sizeOf(splits)))
        cause.add(windows.toAt(i), "");
    }
  }

  void setStore(Cause &cause, StringRef what) {
    cause.why.store = stores.text(what);
    cause.list(stores.named(what));
  }

  /// Why what is stored flat is gathered, or the stored piece cut.
  Cause causeOfStore(Value value, Operation *user) {
    auto of = [&](program::CauseKind kind, Operation *asks, StringRef variable, StringRef what) {
      Cause cause(kind, asks);
      cause.why.variable = variable.str();
      setStore(cause, what);
      return cause;
    };
    if (auto accumulate = dyn_cast<nn::AccumulateOp>(user))
      return of(program::CauseKind::StoresShare, nullptr, accumulate.getVariable(), "gradients");
    if (auto write = dyn_cast<nn::WriteOp>(user))
      return of(program::CauseKind::UpdatedInShares, nullptr, write.getVariable(), "optimizer");
    if (auto read = value.getDefiningOp<nn::ReadOp>(); read && !isUpdate(user))
      return of(program::CauseKind::StoredInShares, user, read.getVariable(), "parameters");
    return of(program::CauseKind::UpdatesShare, user, "", "optimizer");
  }

  Cause causeOfSecond(nn::ReadOp read, Operation *user) {
    Cause cause(program::CauseKind::StoredInShares, user);
    cause.why.variable = read.getVariable().str();
    setStore(cause, "secondary");
    return cause;
  }

  bool isUpdate(Operation *op) { return layouts.isUpdate(op); }

  using Copy = std::tuple<Value, LayoutAttr, nn::AtAttr>;
  using Key = std::tuple<Value, LayoutAttr, int>;
  ModuleOp module;
  SymbolTable symbols; ///< placing adds and removes no variable
  Rules &rules;
  const Stores &stores;
  Layouts &layouts;
  dist::MeshAttr mesh;
  OpBuilder builder;
  DenseMap<Copy, Value> copies;
  DenseMap<Key, Value> reshards;
  DenseMap<Value, Value> reduced;
  DenseMap<Value, Value> secondShares; ///< of reads of parameters
  llvm::StringMap<Value> accumulated;  ///< what each accumulator adds up
};

struct PlaceAssign : impl::PlaceAssignBase<PlaceAssign> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Rules rules(module);
    Stores stores(module, rules);
    Layouts layouts(module, rules, stores);
    if (failed(layouts.derive()))
      return signalPassFailure();
    Rewriter(module, rules, stores, layouts).run();
    attributes::meshLines.remove(module);
    module.walk([](Operation *op) {
      op->removeAttr(nn::gradientOfAttribute);
      op->removeAttr(nn::ofWholeAttribute);
    });
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceAssignPass() { return std::make_unique<PlaceAssign>(); }

} // namespace npar::place
