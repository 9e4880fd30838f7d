// Finds what only weights need in one walk from the last op to the first: users come before definitions.
#include "compiler/passes/schedule/WeightOps.h"

#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/schedule/Stages.h"

using namespace mlir;

namespace npar::compiler {

bool isRepeated(Operation *op) {
  if (auto asked = dyn_cast<nn::OriginOpInterface>(op))
    return asked.getOrigin() != nn::Origin::Computed;
  if (!isa<dist::SliceOp>(op))
    return false;
  Operation *source = op->getOperand(0).getDefiningOp();
  return source && isRepeated(source);
}

namespace {

/// Returns whether `op` must stay in B because `user`, or a user of the repeated op `user`, uses a value of it.
bool needs(Operation *user, Operation *op) {
  if (isRepeated(user))
    return llvm::any_of(user->getUsers(), [&](Operation *next) { return needs(next, op); });
  if (!isBackward(user))
    return false;
  return !attributes::weightGradient.isOn(user) || nn::getAt(user).getBlock() != nn::getAt(op).getBlock();
}

} // namespace

void markWeightOps(func::FuncOp micro) {
  for (Operation &op : llvm::reverse(micro.getBody().front()))
    if (isBackward(&op) && !isRepeated(&op) && !attributes::round.isOn(&op) &&
        llvm::none_of(op.getUsers(), [&](Operation *user) { return needs(user, &op); }))
      attributes::weightGradient.set(&op);
}

} // namespace npar::compiler
