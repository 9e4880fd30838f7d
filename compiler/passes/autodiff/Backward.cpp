// autodiff-backward: reverse-mode gradients of @micro, appended to it.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Gradient.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/Precision.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DEF_AUTODIFFBACKWARD
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

/// Gives every op that is built the place of the forward op it belongs to, and its round.
struct PlaceListener : OpBuilder::Listener {
  Operation *forward = nullptr;
  Operation *ofRound = nullptr; ///< an op of the round
  void begin(Operation *op) { forward = ofRound = op; }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (AtAttr at = getAt(forward))
      setAt(op, Phase::Backward, at.getPath(), at.getBlock());
    attributes::round.copy(ofRound, op);
  }
};

struct AutodiffBackward : impl::AutodiffBackwardBase<AutodiffBackward> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro || !micro.getBody().hasOneBlock()) {
      getOperation().emitError("the program has no function '@micro' of one block");
      return signalPassFailure();
    }
    precision = Precision(getOperation());
    terms = lossTerms(getOperation());
    SmallVector<Operation *> forward;
    for (Operation &op : micro.front().without_terminator())
      forward.push_back(&op);
    findActive(forward);
    numberUses(forward);

    PlaceListener places;
    OpBuilder builder(micro.front().getTerminator(), &places);
    for (Operation *op : llvm::reverse(forward)) {
      places.begin(op);
      if (failed(visit(builder, places, op)))
        return signalPassFailure();
    }
    declareAccumulators(micro);
    removeDead(micro, forward.size());
    countFlops(micro);
  }

  /// Counts the floating-point operations of the model's products in a training step. No op is repeated or split yet.
  void countFlops(func::FuncOp micro) {
    double flops = 0;
    micro.walk([&](CostOpInterface op) { flops += op.getProductFlops(); });
    if (std::optional<int64_t> count = attributes::microCount.get(getOperation()))
      attributes::flops.set(getOperation(), flops * static_cast<double>(*count));
  }

  Precision precision;
  SmallVector<LossTerm> terms;
  llvm::DenseSet<Value> active;                    // depends on a parameter that is trained
  llvm::StringSet<> activeTotals;                  // accumulators that @micro reads, of active values
  llvm::DenseMap<Operation *, int64_t> useNumbers; // of a parameter's reads
  llvm::DenseMap<Value, Value> gradients;          // the sum of the contributions so far
  SmallVector<ReadOp> accumulated;                 // reads of parameters with a gradient, last first

  /// Selects of one value along one axis; parts are null where nothing arrived.
  struct Selected {
    StringAttr axis;
    SmallVector<Value> parts;
    Operation *first;
  };
  llvm::DenseMap<Value, SmallVector<Selected>> selected;

  void findActive(ArrayRef<Operation *> forward) {
    llvm::DenseSet<StringAttr> parameters;
    for (auto variable : getOperation().getOps<VariableOp>())
      if (variable.isTrained())
        parameters.insert(StringAttr::get(&getContext(), pathOf(variable)));
    for (Operation *op : forward) {
      auto read = llvm::dyn_cast<ReadOp>(op);
      bool depends = read ? parameters.contains(read.getVariableAttr().getAttr()) || activeTotals.contains(read.getVariable())
                          : llvm::any_of(op->getOperands(), [&](Value value) { return active.contains(value); });
      if (auto accumulate = llvm::dyn_cast<AccumulateOp>(op); accumulate && depends)
        activeTotals.insert(accumulate.getVariable());
      if (depends) // integers follow from parameters in steps, without a slope
        for (Value result : op->getResults())
          if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
            active.insert(result);
    }
  }

  void numberUses(ArrayRef<Operation *> forward) {
    llvm::StringMap<int64_t> next;
    for (Operation *op : forward)
      if (auto read = llvm::dyn_cast<ReadOp>(op))
        useNumbers[op] = next[read.getVariable()]++;
  }

  LogicalResult visit(OpBuilder &builder, PlaceListener &places, Operation *op) {
    if (auto accumulate = llvm::dyn_cast<AccumulateOp>(op)) {
      auto term = llvm::find_if(terms, [&](const LossTerm &each) { return each.hasSum(accumulate.getVariable()); });
      if (term != terms.end()) {
        Value weight = seed(builder, op->getLoc(), accumulate.getValue().getType(), term->weight);
        contribute(builder, op, accumulate.getValue(), perCounted(builder, op->getLoc(), getOperation(), *term, weight));
      }
      return success();
    }
    for (Value result : op->getResults())
      joinSelected(builder, places, result);
    places.begin(op);

    SmallVector<Value> fromResults;
    for (Value result : op->getResults())
      fromResults.push_back(active.contains(result) ? gradients.lookup(result) : Value());
    if (llvm::none_of(fromResults, [](Value gradient) { return bool(gradient); }))
      return success();
    if (auto read = llvm::dyn_cast<ReadOp>(op)) {
      if (activeTotals.contains(read.getVariable())) {
        InFlightDiagnostic error =
            read.emitError("the gradient of a sum over all samples of a step would have to reach other micro-batches") << dsl::Code::N12;
        error.attachNote(read.getLoc())
            << "help: use stop_gradient(...) and a sum over each sample for the factor whose gradient counts, or "
               "make 'micro' large enough for a single micro-batch";
        return error;
      }
      if (Operation *last = fromResults.front().getDefiningOp(); last && attributes::round.isOn(last))
        places.ofRound = last; // what rounds add up is accumulated with the last of them
      accumulateUse(builder, read, fromResults.front());
      return success();
    }
    if (auto select = llvm::dyn_cast<SelectOp>(op)) {
      holdSelected(builder, select, fromResults.front());
      return success();
    }
    auto differentiable = llvm::dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no gradient, but the loss depends on a parameter through it") << dsl::Code::A16;
    SmallVector<Value> toOperands = differentiable.buildGradients(builder, fromResults);
    if (toOperands.size() != op->getNumOperands())
      return failure();
    // Last operand first: with both operands equal, the earlier one counts as the earlier use.
    for (size_t i = toOperands.size(); i-- > 0;)
      if (toOperands[i] && active.contains(op->getOperand(i)))
        contribute(builder, op, op->getOperand(i), toOperands[i]);
    return success();
  }

  /// The gradient of the loss by one of its terms: the weight, in fp16 times the loss scale, which @update divides out again (RULES.md#N7).
  Value seed(OpBuilder &builder, Location loc, Type type, double weight) {
    if (!precision.scalesLoss())
      return FillOp::create(builder, loc, type, builder.getF64FloatAttr(weight));
    std::string symbol = Precision::symbolOf(Precision::lossScale);
    if (!findVariable(getOperation(), symbol)) {
      OpBuilder outside(getOperation().lookupSymbol<func::FuncOp>("micro"));
      auto scale = VariableOp::create(outside, loc, symbol, type, VariableKind::State);
      scale.setSlot(Precision::lossScale);
      scale.setInitAttr(InitAttr::get(&getContext(), InitKind::Constant, Precision::firstLossScale));
    }
    Value scale = ReadOp::create(builder, loc, type, symbol);
    return weight == 1 ? scale : ScaleOp::create(builder, loc, type, scale, builder.getF64FloatAttr(weight)).getResult();
  }

  void contribute(OpBuilder &builder, Operation *use, Value value, Value gradient) {
    Value &sum = gradients[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    // Contributions to a parameter that have more bits than it are added before they are rounded.
    auto narrow = gradient.getDefiningOp<ConvertOp>(), before = sum.getDefiningOp<ConvertOp>();
    auto bitsOf = [](Value x) { return getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth(); };
    bool isWide = value.getDefiningOp<ReadOp>() && narrow && before && narrow.getX().getType() == before.getX().getType() &&
                  bitsOf(narrow.getX()) > bitsOf(value);
    Value a = isWide ? narrow.getX() : gradient, b = isWide ? before.getX() : sum;
    auto add = AddOp::create(builder, use->getLoc(), a.getType(), a, b);
    sum = isWide ? ConvertOp::create(builder, use->getLoc(), value.getType(), add).getResult() : add.getResult();
    // Sums of what rounds of rows contribute go by the rules for the products.
    Operation *last = a.getDefiningOp();
    if (Attribute kind = last ? last->getAttr(gradientOfAttribute) : Attribute(); kind && attributes::round.isOn(last))
      for (Operation *op : {add.getOperation(), sum.getDefiningOp()})
        op->setAttr(gradientOfAttribute, kind);
  }

  void accumulateUse(OpBuilder &builder, ReadOp read, Value gradient) {
    std::string name = (read.getVariable() + ".grad." + Twine(useNumbers.lookup(read))).str();
    if (Type type = precision.gradientType(read.getType()); type != gradient.getType())
      gradient = widened(builder, read, gradient, type);
    AccumulateOp::create(builder, read.getLoc(), name, gradient);
    accumulated.push_back(read);
  }

  /// Widens a gradient that is kept in float32 although the parameter has 16 bits. Operations that sum in float32 yield it without rounding
  /// in between.
  Value widened(OpBuilder &builder, ReadOp read, Value gradient, Type type) {
    if (auto narrowing = gradient.getDefiningOp<ConvertOp>(); narrowing && narrowing.getX().getType() == type)
      return narrowing.getX();
    if (auto product = gradient.getDefiningOp<EinsumOp>(); product && product->use_empty()) {
      product.getResult().setType(llvm::cast<RankedTensorType>(type));
      return product;
    }
    if (auto sum = gradient.getDefiningOp<SumOp>();
        sum && sum->use_empty()) { // of ranks and micro-batches too: they add what is not rounded
      Value wide = ConvertOp::create(builder, read.getLoc(), withElement(sum.getX().getType(), getElementTypeOrSelf(type)), sum.getX());
      sum.erase();
      return SumOp::create(builder, read.getLoc(), type, wide);
    }
    return ConvertOp::create(builder, read.getLoc(), type, gradient);
  }

  /// Declares accumulators in the order of the parameters and, per parameter, of the uses.
  void declareAccumulators(func::FuncOp micro) {
    OpBuilder builder(micro);
    llvm::DenseMap<StringAttr, SmallVector<ReadOp>> reads;
    for (ReadOp read : llvm::reverse(accumulated))
      reads[read.getVariableAttr().getAttr()].push_back(read);
    for (auto parameter : llvm::to_vector(getOperation().getOps<VariableOp>()))
      for (ReadOp read : reads.lookup(StringAttr::get(&getContext(), pathOf(parameter)))) {
        int64_t use = useNumbers.lookup(read);
        auto accumulator = VariableOp::create(builder, parameter.getLoc(), (pathOf(parameter) + ".grad." + Twine(use)).str(),
                                              precision.gradientType(parameter.getType()), VariableKind::Accumulator);
        accumulator.setOf(pathOf(parameter));
        accumulator.setUse(use);
      }
  }

  void holdSelected(OpBuilder &builder, SelectOp select, Value gradient) {
    SmallVector<Selected> &groups = selected[select.getX()];
    Selected *group = llvm::find_if(groups, [&](const Selected &each) { return each.axis == select.getAxisAttr(); });
    if (group == groups.end()) {
      int64_t size = sizeOf(select.getX().getType(), select.getAxisAttr());
      groups.push_back({select.getAxisAttr(), SmallVector<Value>(size), select});
      group = &groups.back();
    }
    Value &part = group->parts[select.getIndex()];
    part = part ? AddOp::create(builder, select.getLoc(), part.getType(), gradient, part).getResult() : gradient;
    group->first = select;
  }

  void joinSelected(OpBuilder &builder, PlaceListener &places, Value value) {
    auto found = selected.find(value);
    if (found == selected.end())
      return;
    for (Selected &group : found->second) {
      places.begin(group.first);
      Location loc = group.first->getLoc();
      Type part = group.first->getResult(0).getType();
      Value zero;
      for (Value &each : group.parts)
        if (!each)
          each = zero ? zero : (zero = FillOp::create(builder, loc, part, builder.getF64FloatAttr(0)));
      for (Value &each : group.parts) // selects may order their axes differently
        if (each.getType() != part)
          each = BroadcastOp::create(builder, loc, part, each);
      contribute(builder, group.first, value, joinParts(builder, loc, value.getType(), group.parts, group.axis));
    }
  }

  /// Gradients that reach no parameter.
  void removeDead(func::FuncOp micro, size_t kept) {
    SmallVector<Operation *> all;
    for (Operation &op : micro.front().without_terminator())
      all.push_back(&op);
    for (Operation *op : llvm::reverse(ArrayRef(all).drop_front(kept)))
      if (isOpTriviallyDead(op))
        op->erase();
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffBackwardPass() { return std::make_unique<AutodiffBackward>(); }

} // namespace npar::compiler
