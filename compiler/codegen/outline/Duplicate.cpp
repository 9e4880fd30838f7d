// Copies cheap ops to their users where storing their result would cost more than computing it again.
#include "compiler/codegen/outline/Outline.h"

using namespace mlir;

namespace npar::codegen {

// Stored anyway, because something that is no kernel reads it.
static bool isMaterialised(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return !isFusable(user) || loopsOf(user).alone || !loopsOf(user).external.empty(); });
}

static bool isEffortless(Operation *op) {
  auto asked = dyn_cast<nn::KernelOpInterface>(op);
  return asked && asked.getEffort() == nn::Effort::None;
}

// A private copy of the cheap ops that lead to `operand`, up to stored values.
static void ownProducers(OpOperand &operand, int depth) {
  Operation *producer = operand.get().getDefiningOp();
  if (!producer || depth == 0 || !isDoneAgain(producer) || isMaterialised(operand.get()))
    return;
  if (!operand.get().hasOneUse()) {
    OpBuilder b(operand.getOwner());
    Operation *copy = b.clone(*producer);
    operand.set(copy->getResult(0));
    producer = copy;
  }
  for (OpOperand &inner : producer->getOpOperands())
    ownProducers(inner, depth - 1);
}

void duplicateCheapOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isEffortless(&op) && isFusable(&op))
      for (OpOperand &use : llvm::make_early_inc_range(op.getUses()))
        if (!use.get().hasOneUse() && isFusable(use.getOwner()) && !loopsOf(use.getOwner()).alone)
          use.set(OpBuilder(use.getOwner()).clone(op)->getResult(0));
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isFusable(&op) && !loopsOf(&op).alone && isColumnReduction(loopsOf(&op)))
      for (OpOperand &operand : op.getOpOperands())
        ownProducers(operand, 8);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isFusable(&op) && op.use_empty())
      op.erase();
}

} // namespace npar::codegen
