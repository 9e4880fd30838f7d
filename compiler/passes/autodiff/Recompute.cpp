// autodiff-recompute: values inside a recomputed segment are not kept for the backward but computed again there.
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Decision.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/Segments.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_AUTODIFFRECOMPUTE
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

int64_t blockOf(Operation *op) { return getAt(op).getBlock(); }

/// The number that an op of a segment and its copies have in common; none if it is in no segment yet.
std::optional<int64_t> numberOf(Operation *op) {
  auto number = op->getAttrOfType<IntegerAttr>(recomputeAttribute);
  return number ? std::optional(number.getInt()) : std::nullopt;
}

class Repeater {
public:
  using SegmentOf = llvm::function_ref<std::optional<unsigned>(Operation *)>;

  /// `segmentOf`: the segment of an op, or of the op whose gradient it computes; none when that is not repeated.
  explicit Repeater(SegmentOf segmentOf) : segmentOf(segmentOf) {}

  void run(func::FuncOp micro) {
    SmallVector<Operation *> backward, early;
    for (Operation &op : micro.front())
      if (std::optional<int64_t> number = numberOf(&op))
        nextNumber = std::max(nextNumber, *number + 1);
    for (Operation &op : micro.front().without_terminator()) {
      AtAttr at = getAt(&op);
      if (at && at.getPhase() == Phase::Backward) {
        backward.push_back(&op);
        continue;
      }
      enlist(&op);
      early.append(backward);
      backward.clear();
    }
    // Operations that need sums over a step (prepare-totals) precede all gradients. They repeat nothing, or all blocks would be repeated at
    // once.
    for (Operation *op : early)
      for (Value operand : op->getOperands())
        kept.insert(operand);
    for (Operation *op : backward)
      if (std::optional<unsigned> segment = segmentOf(op))
        repeatFor(op, *segment);
      else
        for (Value operand : op->getOperands())
          kept.insert(operand);
  }

private:
  void enlist(Operation *op) {
    std::optional<unsigned> segment = segmentOf(op);
    if (!segment || !isPure(op) || isFree(op) || isFetched(op))
      return; // never kept, so never worth repeating
    if (op->hasTrait<Decision>())
      return; // kept: decided once
    members[op] = *segment;
    order.try_emplace(op, static_cast<int64_t>(order.size()));
    if (!numberOf(op))
      op->setAttr(recomputeAttribute, Builder(op->getContext()).getI64IntegerAttr(nextNumber++));
  }

  /// Returns whether a value is computed inside the segment and not kept for other users.
  bool isInside(Value value, unsigned segment) {
    auto found = members.find(value.getDefiningOp());
    return found != members.end() && found->second == segment && !kept.contains(value);
  }

  /// Repeats, right before a backward op, what it needs of its segment and is not repeated yet.
  void repeatFor(Operation *op, unsigned segment) {
    SmallVector<Operation *> needed, open{op};
    llvm::DenseSet<Operation *> seen;
    while (!open.empty())
      for (Value operand : open.pop_back_val()->getOperands()) {
        Operation *definition = operand.getDefiningOp();
        if (!isInside(operand, segment))
          kept.insert(operand);
        else if (!copies.contains(definition) && seen.insert(definition).second) {
          needed.push_back(definition);
          open.push_back(definition);
        }
      }
    llvm::sort(needed, [&](Operation *a, Operation *b) { return order.lookup(a) < order.lookup(b); });
    OpBuilder builder(op);
    for (Operation *each : needed) {
      Operation *copy = builder.clone(*each);
      AtAttr at = getAt(each);
      setAt(copy, Phase::Backward, at.getPath(), at.getBlock());
      copies[each] = copy;
      redirect(builder, copy, segment);
    }
    redirect(builder, op, segment);
  }

  void redirect(OpBuilder &builder, Operation *user, unsigned segment) {
    for (OpOperand &use : user->getOpOperands())
      if (isInside(use.get(), segment))
        use.set(again(builder, use.get(), user));
  }

  /// The repeated value for a user; into another block of the segment through an nn.checkpoint.
  Value again(OpBuilder &builder, Value value, Operation *user) {
    Operation *definition = value.getDefiningOp();
    Value copy = copies.lookup(definition)->getResult(cast<OpResult>(value).getResultNumber());
    if (blockOf(definition) == blockOf(user))
      return copy;
    Value &checkpoint = checkpoints[{value, blockOf(user)}];
    if (!checkpoint) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(user);
      auto op = CheckpointOp::create(builder, definition->getLoc(), value.getType(), value, copy);
      setAt(op, getAt(user));
      checkpoint = op;
    }
    return checkpoint;
  }

  SegmentOf segmentOf;
  int64_t nextNumber = 0;
  llvm::DenseMap<Operation *, unsigned> members; ///< segments of the forward ops that may be repeated
  llvm::DenseMap<Operation *, int64_t> order;    ///< their positions in the program
  llvm::DenseMap<Operation *, Operation *> copies;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> checkpoints; ///< by value and the block that uses it
  llvm::DenseSet<Value> kept;                                   ///< values that are kept for a use outside of their segment
};

struct AutodiffRecompute : impl::AutodiffRecomputeBase<AutodiffRecompute> {
  void runOnOperation() override {
    std::optional<attributes::RecomputeClause> clause = attributes::getRecompute(getOperation());
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    repeatRounds(micro);
    if (!clause)
      return;
    FailureOr<Segments> segments = Segments::read(getOperation(), micro, *clause);
    if (failed(segments))
      return signalPassFailure();
    Repeater([&](Operation *op) { return segments->of(op); }).run(micro);
  }

  /// Makes a segment of each round of rows of experts. A segment of the plan may contain it, and then repeats what the round's copies use.
  static void repeatRounds(func::FuncOp micro) {
    llvm::DenseMap<Attribute, unsigned> rounds;
    auto roundOf = [&](Operation *op) -> std::optional<unsigned> {
      DenseI64ArrayAttr round = attributes::round.get(op);
      return round ? std::optional(rounds.try_emplace(round, rounds.size()).first->second) : std::nullopt;
    };
    if (llvm::any_of(micro.getOps(), [](Operation &op) { return attributes::round.isOn(&op); }))
      Repeater(roundOf).run(micro);
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffRecomputePass() { return std::make_unique<AutodiffRecompute>(); }

} // namespace npar::compiler
