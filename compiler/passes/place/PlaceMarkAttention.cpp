// Marks attention on a ring and attention with whole keys before gradients are built, because neither keeps probabilities for the backward.
// Chooses the memory order of a sequence on a ring.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/dialects/nn/ops/Windows.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/place/Rules.h"

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace npar::place {

#define GEN_PASS_DEF_PLACEMARKATTENTION
#include "compiler/passes/place/Passes.h.inc"

namespace {

struct PlaceMarkAttention : impl::PlaceMarkAttentionBase<PlaceMarkAttention> {
  void runOnOperation() override {
    SmallVector<nn::AttentionOp> attentions;
    getOperation().walk([&](nn::AttentionOp op) { attentions.push_back(op); });
    // Only a rule that states how keys are exchanged (`by`) may split a sequence; place-assign refuses the others.
    if (llvm::all_of(attributes::rules.get(getOperation()), [](dist::RuleAttr rule) { return rule.getBy().empty(); })) {
      llvm::for_each(attentions, markBlocked);
      return;
    }
    Rules rules(getOperation());
    for (nn::AttentionOp op : attentions) {
      Assignment assignment = rules.assign(op);
      ArrayRef<StringAttr> splits = assignment.splitsOf(op.getSeqAttr());
      dist::RuleAttr rule = splits.empty() ? dist::RuleAttr() : rules.rule(assignment.ruleOf(splits.front()));
      if (!rule || !isRing(rule)) {
        markBlocked(op);
        continue;
      }
      if (!dividesKeys(op, rule, rules.mesh.sizeOf(splits)))
        continue;
      keepLse(op);
      op.setRing(true);
      if (rule.getBy() == "ring_zigzag")
        order(op.getSeqAttr(), {rule, rules.mesh.sizeOf(splits), op.getSeqAttr()});
    }
    if (rules.hasFailed() || wrong)
      return signalPassFailure();
    setOrders(attentions);
  }

private:
  struct Order {
    dist::RuleAttr rule;
    int64_t ranks;
    StringAttr sequence; ///< the axis of attention that the rule splits, which other axes rename
  };
  llvm::MapVector<StringAttr, Order> orders;
  bool wrong = false;

  static bool isRing(dist::RuleAttr rule) { return rule.getBy().getValue().starts_with("ring"); }

  /// The keys of another sequence are dealt out as the queries are, and nothing fills them up.
  bool dividesKeys(nn::AttentionOp op, dist::RuleAttr rule, int64_t ranks) {
    int64_t keys = nn::sizeOf(op.getK().getType(), op.getKeyAxis());
    if (!op.getKeysAttr() || keys % ranks == 0)
      return true;
    InFlightDiagnostic error = fail(rule) << dsl::Code::P5;
    error << "a ring of " << ranks << " ranks cannot share the " << keys << " keys over '" << op.getKeyAxis().getValue() << "'";
    error.attachNote(op.getLoc()) << "operation 'attention' is here";
    error.attachNote(rule.getLoc()) << "help: use 'by gather', or a size that " << ranks << " divides";
    return false;
  }

  static void markBlocked(nn::AttentionOp op) {
    keepLse(op);
    op.setBlocked(true);
  }

  /// The second result becomes lse: [.., heads, groups, seq], wide enough for a sum.
  static void keepLse(nn::AttentionOp op) {
    auto probs = cast<RankedTensorType>(op.getProbs().getType());
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    for (auto [name, size] : llvm::zip(nn::axesOf(probs), probs.getShape()))
      if (name != op.getKeyAttr())
        names.push_back(name), sizes.push_back(size);
    op.getProbs().setType(nn::withAxes(nn::widened(probs), names, sizes));
  }

  /// Gives the axis, and all axes that rename it, the order of the rule.
  void order(StringAttr axis, const Order &wanted) {
    auto [entry, isNew] = orders.insert({axis, wanted});
    if (isNew) {
      checkUses(axis, wanted);
      getOperation().walk([&](nn::RenameOp op) {
        if (op.getFromAttr() == axis || op.getToAttr() == axis)
          order(op.getFromAttr() == axis ? op.getToAttr() : op.getFromAttr(), wanted);
      });
      getOperation().walk([&](nn::AttentionOp op) {
        if (op.getSeqAttr() == axis && !op.getKeysAttr())
          order(op.getKeyAttr(), wanted);
      });
      return;
    }
    if (entry->second.ranks == wanted.ranks || wrong)
      return;
    InFlightDiagnostic error = fail(wanted.rule) << dsl::Code::P5;
    error << "axis '" << wanted.sequence.getValue() << "' would be in zigzag order of " << wanted.ranks << " and of " << entry->second.ranks
          << " ranks";
    error.attachNote(entry->second.rule.getLoc()) << "the other rule is here";
    error.attachNote(wanted.rule.getLoc()) << "help: use 'by ring' in one of them";
  }

  InFlightDiagnostic fail(dist::RuleAttr rule) {
    wrong = true;
    return emitError(rule.getLoc());
  }

  /// Returns whether an op depends on the order of an axis: a loop that needs all of its axis, or a look-up along it.
  static bool countsPlaces(Operation *op, StringAttr axis) {
    if (isa<nn::AttentionOp>(op)) // attention knows the order
      return false;
    if (auto gather = dyn_cast<nn::GatherOp>(op))
      return gather.getAxisAttr() == axis;
    if (auto windows = dyn_cast<nn::WindowsOp>(op);
        windows && (llvm::is_contained(windows.getOver(), axis) || llvm::is_contained(windows.getTo(), axis)))
      return true; // over it, or over the axis of positions in the gradient
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    return shardable && llvm::any_of(shardable.getLoopAxes(), [&](const nn::LoopAxis &loop) {
             return loop.name == axis && (loop.kind == nn::LoopKind::Whole || loop.kind == nn::LoopKind::Window);
           });
  }

  /// Refuses the order if some op or parameter needs the axis in its logical order.
  void checkUses(StringAttr axis, const Order &wanted) {
    Operation *user = nullptr;
    std::string what;
    getOperation().walk([&](Operation *op) {
      if (auto variable = dyn_cast<nn::VariableOp>(op); variable && nn::hasAxis(variable.getType(), axis))
        user = op, what = ("parameter '" + nn::pathOf(variable) + "' has it").str();
      else if (countsPlaces(op, axis))
        user = op, what = ("operation '" + op->getName().stripDialect() + "' counts its positions").str();
      return user ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!user)
      return;
    InFlightDiagnostic error = fail(wanted.rule) << dsl::Code::P5;
    error << "axis '" << wanted.sequence.getValue() << "' cannot be in zigzag order: " << what;
    error.attachNote(user->getLoc()) << "it is here";
    error.attachNote(wanted.rule.getLoc()) << "help: use 'by ring', or give it an axis of its own";
  }

  /// Keys have the order of their sequence even if they are whole.
  void setOrders(ArrayRef<nn::AttentionOp> attentions) {
    SmallVector<NamedAttribute> all;
    Builder builder(&getContext());
    auto add = [&](StringAttr axis, int64_t ranks) {
      if (llvm::none_of(all, [&](NamedAttribute known) { return known.getName() == axis; }))
        all.push_back(builder.getNamedAttr(axis, builder.getI64IntegerAttr(ranks)));
    };
    for (auto &[axis, order] : orders)
      add(axis, order.ranks);
    for (nn::AttentionOp op : attentions)
      if (auto found = orders.find(op.getSeqAttr()); found != orders.end())
        add(op.getKeyAttr(), found->second.ranks);
    if (!all.empty())
      attributes::zigzag.set(getOperation(), builder.getDictionaryAttr(all));
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPlaceMarkAttentionPass() { return std::make_unique<PlaceMarkAttention>(); }

} // namespace npar::place
