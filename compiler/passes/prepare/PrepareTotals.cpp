// prepare-totals: sums over groups of samples become sums of micro-batches or of parts of them. Sums over the samples of a step are known
// only after the last forward if there are several micro-batches, so what needs them moves to the backward pass.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/Unrounded.h"
#include "compiler/dialects/nn/base/Elements.h"
#include "compiler/dialects/nn/ops/Along.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/dialects/nn/ops/Samples.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/prepare/Prepare.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_PREPARETOTALS
#include "compiler/passes/prepare/Passes.h.inc"

namespace {

struct PrepareTotals : impl::PrepareTotalsBase<PrepareTotals> {
  void runOnOperation() override {
    micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    for (GroupTotalOp total : llvm::to_vector(micro.getOps<GroupTotalOp>()))
      if (sizeOf(total.getType(), StringAttr::get(&getContext(), "batch")) == static_cast<int64_t>(total.getSamples()))
        replace(total, /*isSeveral=*/false);
      else
        replaceByGroups(total);
    for (TotalOp total : llvm::to_vector(micro.getOps<TotalOp>()))
      replace(total, attributes::microCount.get(getOperation()).value_or(1) > 1);
    if (failed(defer()))
      return signalPassFailure();
    if (!late.empty())
      splitLosses();
  }

private:
  func::FuncOp micro;
  llvm::SmallPtrSet<Operation *, 4> additions; ///< to the totals
  llvm::DenseSet<Value> late;                  ///< known only after the last forward

  /// Gives an op that replaces a sum, or a part of it, the sum's place in the model and its precision.
  template <typename Op> static Op inPlaceOf(Operation *total, Op op) {
    setAt(op, getAt(total));
    if (total->hasAttr(unroundedAttribute))
      op->setAttr(unroundedAttribute, UnitAttr::get(op->getContext()));
    return op;
  }

  /// `isSeveral`: of several micro-batches, so that the total is known after the last one.
  template <typename Op> void replace(Op total, bool isSeveral) {
    OpBuilder builder(total);
    Location loc = total.getLoc();
    auto made = [&](auto op) { return inPlaceOf(total, op); };
    auto each = cast<RankedTensorType>(total.getType());
    RankedTensorType type = withoutAxes(each, builder.getStringAttr("batch"));
    auto sum = made(SumOp::create(builder, loc, type, total.getX()));
    Value result = sum;
    if (isSeveral) {
      if (isNarrow(type.getElementType()))
        sum->setAttr(unroundedAttribute, builder.getUnitAttr());
      bool isFloat = isa<FloatType>(type.getElementType());
      Type wide = isFloat ? withElement(type, builder.getF64Type()) : type;
      auto converted = [&](Value value, Type to) {
        return value.getType() == to ? value : made(ConvertOp::create(builder, loc, to, value)).getResult();
      };
      const std::string name = "#total." + std::to_string(additions.size());
      OpBuilder outside(micro);
      VariableOp::create(outside, loc, name, wide, VariableKind::Accumulator);
      additions.insert(made(AccumulateOp::create(builder, loc, name, converted(result, wide))));
      Value all = made(ReadOp::create(builder, loc, wide, name));
      late.insert(all);
      result = converted(all, type);
    }
    total.replaceAllUsesWith(made(BroadcastOp::create(builder, loc, each, result)).getResult());
    total.erase();
  }

  /// Cuts `batch` into groups, adds up each of them, and gives each sample the sum of its own.
  void replaceByGroups(GroupTotalOp total) {
    OpBuilder builder(total);
    Location loc = total.getLoc();
    auto made = [&](auto op) { return inPlaceOf(total, op).getResult(); };
    const int64_t samples = total.getSamples();
    const std::string name = "batch", ending = std::to_string(samples);
    StringAttr batch = builder.getStringAttr(name), whole = builder.getStringAttr(name + ".whole"),
               group = builder.getStringAttr(name + ".group" + ending), member = builder.getStringAttr(name + ".of" + ending);
    auto each = cast<RankedTensorType>(total.getType());
    Type element = each.getElementType();
    SmallVector<StringAttr> wholeNames(axesOf(each)), cutNames;
    SmallVector<int64_t> cutShape;
    for (auto [axis, size] : llvm::zip(axesOf(each), each.getShape())) {
      const bool isBatch = axis == batch;
      cutNames.push_back(isBatch ? group : axis), cutShape.push_back(isBatch ? size / samples : size);
      if (isBatch)
        cutNames.push_back(member), cutShape.push_back(samples);
    }
    llvm::replace(wholeNames, batch, whole);
    Value x = made(RenameOp::create(builder, loc, withAxes(element, wholeNames, each.getShape()), total.getX(), batch, whole));
    RankedTensorType cut = withAxes(element, cutNames, cutShape);
    Value groups = made(FoldOp::create(builder, loc, cut, x, whole, group, member));
    Value sums = made(SumOp::create(builder, loc, withoutAxes(cut, member), groups));

    Type i32 = builder.getI32Type();
    RankedTensorType numbers = withAxes(i32, {batch}, {sizeOf(each, batch)});
    Value number = made(IndexOp::create(builder, loc, numbers));
    Value count = made(FillOp::create(builder, loc, scalarOf(i32), builder.getF64FloatAttr(static_cast<double>(samples))));
    Value own = made(IntegerOp::create(builder, loc, numbers, number, count, "div"));
    SmallVector<StringAttr> names{batch};
    SmallVector<int64_t> shape{sizeOf(each, batch)};
    for (auto [axis, size] : llvm::zip(axesOf(each), each.getShape()))
      if (axis != batch)
        names.push_back(axis), shape.push_back(size);
    Value result = made(GatherOp::create(builder, loc, withAxes(element, names, shape), sums, own, group));
    if (result.getType() != each)
      result = made(ReorderOp::create(builder, loc, each, result));
    total.replaceAllUsesWith(result);
    total.erase();
  }

  LogicalResult defer() {
    for (Operation &op : micro.getOps()) {
      bool isLate = llvm::any_of(op.getOperands(), [&](Value operand) { return late.contains(operand); });
      if (isLate && additions.contains(&op)) {
        InFlightDiagnostic error = op.emitError("a sum over all samples of a step needs another one, which is known after the last forward "
                                                "pass")
                                   << dsl::Code::N12;
        error.attachNote(op.getLoc()) << "help: make 'micro' large enough for a single micro-batch";
        return error;
      }
      isLate |= llvm::any_of(op.getResults(), [&](Value result) { return late.contains(result); });
      if (!isLate)
        continue;
      AtAttr at = getAt(&op);
      setAt(&op, Phase::Backward, at.getPath(), at.getBlock());
      late.insert(op.result_begin(), op.result_end());
    }
    return success();
  }

  /// A summand of a loss, and the linear operations that the sum goes through, the last one first.
  struct Summand {
    Value value;
    SmallVector<Operation *> through;
  };

  /// Gradients flow against the pipeline, so a late sum cannot be carried from layer to layer: each layer adds its summand to an
  /// accumulator of its own. Not if the data decide which positions count, which is known at the loss alone.
  void splitLosses() {
    SmallVector<LossTerm> terms = lossTerms(getOperation());
    bool changed = false;
    for (LossTerm &term : terms)
      for (auto sum : llvm::to_vector(micro.getOps<AccumulateOp>())) {
        if (sum.getVariable() != term.sum() || findVariable(getOperation(), term.count()))
          continue;
        SmallVector<Summand> summands;
        collect(sum.getValue(), {}, summands);
        if (summands.size() < 2)
          continue;
        term.parts = static_cast<int64_t>(summands.size());
        changed = true;
        for (auto [part, summand] : llvm::enumerate(summands))
          add(sum, term.sum(static_cast<int64_t>(part)), summand);
        sum.erase();
      }
    if (changed)
      setLossTerms(getOperation(), terms);
  }

  void collect(Value value, const SmallVector<Operation *> &through, SmallVector<Summand> &summands) {
    SmallVector<Operation *> further = through;
    for (Value sum = value; late.contains(sum) && sum.hasOneUse();) {
      Operation *op = sum.getDefiningOp();
      if (isa<AddOp>(op) && llvm::all_of(op->getOperandTypes(), [&](Type type) { return type == sum.getType(); })) {
        for (Value operand : op->getOperands())
          collect(operand, further, summands);
        return;
      }
      if (!isa<ConvertOp, ScaleOp, SumOp, BroadcastOp>(op))
        break;
      further.push_back(op);
      sum = op->getOperand(0);
    }
    summands.push_back({value, through});
  }

  void add(AccumulateOp sum, const std::string &name, const Summand &summand) {
    VariableOp whole = findVariable(getOperation(), sum.getVariable());
    if (name != sum.getVariable()) {
      OpBuilder outside(whole);
      VariableOp::create(outside, whole.getLoc(), name, whole.getType(), VariableKind::Accumulator);
    }
    OpBuilder builder(sum);
    AtAttr at = getAt(summand.value.getDefiningOp());
    Value value = summand.value;
    for (Operation *op : llvm::reverse(summand.through)) {
      Operation *copy = builder.clone(*op);
      copy->setOperand(0, value);
      setAt(copy, at);
      value = copy->getResult(0);
    }
    setAt(AccumulateOp::create(builder, sum.getLoc(), name, value), at);
  }
};
} // namespace

std::unique_ptr<Pass> createPrepareTotalsPass() { return std::make_unique<PrepareTotals>(); }

} // namespace npar::compiler
