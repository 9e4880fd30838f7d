// A walk from the sums of the losses upwards finds the forward part, a walk downwards its gradients.
#include "compiler/passes/schedule/LossPart.h"

#include "compiler/dialects/nn/LossTerms.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"

using namespace mlir;

namespace npar::compiler {
namespace {

/// Returns whether a predicate holds for the op that makes a value or, through repeated ops, for one that makes its operands.
bool comesFrom(Value value, llvm::function_ref<bool(Operation *)> predicate) {
  Operation *definition = value.getDefiningOp();
  return predicate(definition) ||
         (isRepeated(definition) && llvm::any_of(definition->getOperands(), [&](Value operand) { return comesFrom(operand, predicate); }));
}

/// Returns whether only the rank that has the samples can run the op: it uses a parameter, or its coordinate along the axis.
bool needsOwnRank(Operation *op, StringAttr axis) {
  auto module = op->getParentOfType<ModuleOp>();
  auto isOwn = [&](Operation *definition) {
    if (auto read = dyn_cast<nn::ReadOp>(definition))
      return nn::findVariable(module, read.getVariable()).isKind(nn::VariableKind::Parameter);
    dist::LayoutAttr layout = dist::layoutOf(definition->getResult(0));
    return isa<nn::IndexOp>(definition) && layout && layout.splitsOver(axis);
  };
  return isa<nn::DropoutOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) { return comesFrom(operand, isOwn); });
}

/// Calls a function for the users of an op's values, those of repeated users in place of these.
void forEachUser(Operation *op, llvm::function_ref<void(Operation *)> call) {
  for (Operation *user : op->getUsers())
    if (isRepeated(user))
      forEachUser(user, call);
    else
      call(user);
}

} // namespace

LossPart::LossPart(func::FuncOp micro, StringAttr axis) {
  auto addsToLoss = [](Operation *op) {
    auto accumulate = dyn_cast<nn::AccumulateOp>(op);
    return accumulate && nn::isSumOfLoss(accumulate.getVariable());
  };
  llvm::DenseSet<Location> locations;
  llvm::DenseSet<Operation *> received; // ops whose values the forward part uses
  for (Operation &op : llvm::reverse(micro.front().without_terminator())) {
    if (isBackward(&op) || isRepeated(&op) || needsOwnRank(&op, axis))
      continue;
    bool isUsed = false, isOnlyUsedHere = true;
    forEachUser(&op, [&](Operation *user) {
      if (isBackward(user))
        return;
      isUsed = true;
      isOnlyUsedHere &= contains(user);
    });
    if (!addsToLoss(&op) && !(isUsed && isOnlyUsedHere))
      continue;
    ops.insert(&op);
    locations.insert(op.getLoc());
    for (Value operand : op.getOperands())
      comesFrom(operand, [&](Operation *definition) { return received.insert(definition), false; });
  }
  for (Operation &op : micro.front().without_terminator()) {
    if (!isBackward(&op) || isRepeated(&op) || !locations.contains(op.getLoc()) || needsOwnRank(&op, axis) || isa<nn::AccumulateOp>(op))
      continue;
    bool isHere = llvm::all_of(op.getOperands(), [&](Value operand) {
      return !comesFrom(operand, [&](Operation *definition) {
        return (!isRepeated(definition) || isa<nn::InputOp>(definition)) && !contains(definition) && !received.contains(definition);
      });
    });
    if (isHere)
      ops.insert(&op);
  }
}

} // namespace npar::compiler
