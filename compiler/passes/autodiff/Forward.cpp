// autodiff-forward: @micro of a program that trains nothing.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/attributes/TableAttributes.h"
#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/OptimizerAttributes.h"
#include "compiler/dialects/nn/ops/Counts.h"
#include "compiler/dialects/nn/ops/Integer.h"
#include "compiler/dialects/nn/ops/Scores.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/autodiff/MixedPositions.h"
#include "compiler/passes/autodiff/Precision.h"
#include "engine/program/Words.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace npar::compiler {

using namespace mlir;
using namespace nn;

#define GEN_PASS_DECL_AUTODIFFFORWARD
#define GEN_PASS_DEF_AUTODIFFFORWARD
#include "compiler/passes/autodiff/Passes.h.inc"

namespace {

struct AutodiffForward : impl::AutodiffForwardBase<AutodiffForward> {
  using AutodiffForwardBase::AutodiffForwardBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    std::optional<npar::program::ProgramKind> known = npar::program::valueOf<npar::program::ProgramKind>(kind);
    if (!micro || !known || *known == npar::program::ProgramKind::Training) {
      module.emitError("internal error: nothing goes forward only: there is no '@micro', or the kind '") << kind << "' is another";
      return signalPassFailure();
    }
    bool generates = *known == npar::program::ProgramKind::Generation;
    for (DropoutOp dropout : llvm::make_early_inc_range(micro.getOps<DropoutOp>())) {
      dropout.replaceAllUsesWith(dropout.getX());
      dropout.erase();
    }
    for (auto scores : module.getOps<ScoresOp>())
      if (Operation *yield = scores.getBody().front().getTerminator(); yield->getNumOperands() > 1)
        yield->eraseOperand(1); // factors of probabilities that are dropped
    if (failed(generates ? leaveLogits(micro) : leaveLosses(micro)))
      return signalPassFailure();
    removeTraining(micro);
    attributes::kind.set(module, *known);
  }

  LogicalResult leaveLosses(func::FuncOp micro) {
    for (const LossTerm &term : lossTerms(getOperation())) {
      AccumulateOp total = totalOf(micro, term);
      Value losses = total ? lossesOf(total) : Value();
      if (!losses)
        return getOperation().emitError("internal error: '@micro' sums up no loss");
      leave(total, term.result(), losses);
      total.erase();
    }
    for (auto result : micro.getOps<ResultOp>())
      if (failed(checkIndependent(result.getValue(), false)))
        return failure();
    return success();
  }

  /// Leaves the logits of the first loss that compares logits.
  LogicalResult leaveLogits(func::FuncOp micro) {
    SmallVector<AccumulateOp> totals;
    for (const LossTerm &term : lossTerms(getOperation()))
      if (AccumulateOp total = totalOf(micro, term))
        totals.push_back(total);
    for (AccumulateOp total : totals)
      if (Value logits = logitsOf(lossesOf(total))) {
        if (failed(checkIndependent(logits, true)))
          return failure();
        leave(total, "logits", logits);
        for (AccumulateOp each : totals)
          each.erase();
        return success();
      }
    if (totals.empty())
      return getOperation().emitError("internal error: '@micro' sums up no loss");
    return totals.front().emitError(
               "nothing can be generated: the model's loss is no cross_entropy, which compares logits with the next tokens")
           << dsl::Code::A18;
  }

  static void leave(AccumulateOp total, StringRef name, Value value) {
    OpBuilder builder(total);
    auto result = ResultOp::create(builder, total.getLoc(), name, value);
    attributes::at.copy(total, result);
  }

  static AccumulateOp totalOf(func::FuncOp micro, const LossTerm &term) {
    for (auto accumulate : micro.getOps<AccumulateOp>())
      if (accumulate.getVariable() == term.sum())
        return accumulate;
    return {};
  }

  /// Finds the values whose sum is the loss.
  static Value lossesOf(AccumulateOp total) {
    Operation *op = total.getValue().getDefiningOp();
    while (op && !isa<SumOp>(op) && op->getNumOperands() == 1)
      op = op->getOperand(0).getDefiningOp();
    return isa_and_nonnull<SumOp>(op) ? op->getOperand(0) : Value();
  }

  /// The logits of the loss; null if the loss is not a cross_entropy.
  static Value logitsOf(Value losses) {
    Operation *op = losses ? losses.getDefiningOp() : nullptr;
    while (isa_and_nonnull<ConvertOp, WhereOp>(op)) // what does not count is 0
      op = op->getOperand(isa<WhereOp>(op) ? 1 : 0).getDefiningOp();
    auto entropy = dyn_cast_or_null<CrossEntropyOp>(op);
    return entropy ? entropy.getLogits() : Value();
  }

  LogicalResult checkIndependent(Value value, bool generates) {
    Operation *definition = value.getDefiningOp();
    llvm::SetVector<Operation *> slice;
    if (failed(getBackwardSlice(definition, &slice)))
      return failure();
    slice.insert(definition);
    StringAttr batch = StringAttr::get(&getContext(), "batch"), position = generates ? positionsOf(slice) : StringAttr();
    Operation *doubtful = nullptr; // the first one
    for (Operation *op : slice) {
      if (mixes(op, batch))
        return op->emitError("'") << dsl::Code::A18 << op->getName().stripDialect()
                                  << "' mixes the samples of a batch: a program without training must compute each sample separately";
      if (!position)
        continue;
      if (failed(checkAttention(op, position)) || failed(checkQueue(op)))
        return failure();
      if (isDoubtful(op, position) && !doubtful)
        doubtful = op;
    }
    if (!doubtful)
      return success();
    attributes::untestedPositions.set(getOperation());
    doubtful->emitWarning("positions of '") << position.getValue()
                                            << "' are mixed here, and not by causal attention: each generated token recomputes the whole "
                                               "sequence, and npar tests with the first token that no "
                                               "position depends on later ones";
    return success();
  }

  /// The axis along which tokens follow each other: the second one of the input [batch, SEQ].
  static StringAttr positionsOf(const llvm::SetVector<Operation *> &slice) {
    for (Operation *op : slice)
      if (auto input = dyn_cast<InputOp>(op); input && axesOf(input.getType()).size() == 2)
        return axesOf(input.getType())[1];
    return {};
  }

  /// Attention that looks at all positions of its own sequence, whatever a formula would hide, cannot generate.
  LogicalResult checkAttention(Operation *op, StringAttr position) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention || attention.getSeqAttr() != position || attention.getKeysAttr() || attention.getCausal() || attention.getScores())
      return success();
    InFlightDiagnostic error = op->emitError("attention over '") << dsl::Code::A18 << position.getValue()
                                                                 << "' uses later positions, which are not known "
                                                                    "during generation";
    error.attachNote(op->getLoc()) << "help: give it 'causal'";
    return error;
  }

  /// Refuses a queue in which choices of later positions come first.
  static LogicalResult checkQueue(Operation *op) {
    auto queue = dyn_cast<QueueOp>(op);
    if (!queue || !queue.getLooksAhead().value_or(false))
      return success();
    InFlightDiagnostic error =
        op->emitError("a queue in the order \"choice\" uses the choices of later positions, which are not known during "
                      "generation")
        << dsl::Code::A18;
    error.attachNote(op->getLoc()) << "help: train with the order \"position\"";
    return error;
  }

  /// Tells by the loops of `op` whether a position of its result can depend on later ones.
  static bool isDoubtful(Operation *op, StringAttr position) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return attention.getSeqAttr() == position && !attention.getKeysAttr() && !attention.getCausal();
    auto rename = dyn_cast<RenameOp>(op);
    return mixes(op, position) || (rename && rename.getFromAttr() == position && axesOfDispatch(rename).empty());
  }

  void removeTraining(func::FuncOp micro) {
    ModuleOp module = getOperation();
    SmallVector<Operation *> all;
    for (Operation &op : micro.front().without_terminator())
      all.push_back(&op);
    for (Operation *op : llvm::reverse(all))
      if (isOpTriviallyDead(op))
        op->erase();
    for (StringRef prologue : {"count", "start"})
      if (Operation *function = module.lookupSymbol(prologue))
        function->erase();
    for (VariableOp variable : llvm::make_early_inc_range(module.getOps<VariableOp>()))
      if (!variable.isKind(VariableKind::Parameter))
        variable.erase();
    if (Precision(module).roundsSums())
      attributes::roundedSums.set(module);
    for (attributes::Name consumed : std::initializer_list<attributes::Name>{
             attributes::optimizers, attributes::clip, attributes::precision, attributes::recompute, attributes::losses})
      consumed.remove(module);
    keepInputs(micro);
  }

  /// Keeps the description of the inputs that are left, which the engine needs.
  void keepInputs(func::FuncOp micro) {
    std::optional<std::vector<attributes::InputEntry>> described = attributes::getInputs(getOperation());
    if (!described)
      return;
    llvm::SmallDenseSet<StringAttr> left;
    for (auto input : micro.getOps<InputOp>())
      left.insert(input.getNameAttr());
    llvm::erase_if(*described, [&](const attributes::InputEntry &input) { return !left.contains(input.name); });
    attributes::setInputs(getOperation(), *described);
  }
};
} // namespace

std::unique_ptr<Pass> createAutodiffForwardPass(program::ProgramKind kind) {
  AutodiffForwardOptions options;
  options.kind = program::wordOf(kind);
  return std::make_unique<AutodiffForward>(options);
}

} // namespace npar::compiler
