// schedule-recompute: ends recomputed segments where the chain of blocks is cut, removes copies that become dead, marks weight ops again.
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULERECOMPUTE
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

struct ScheduleRecompute : impl::ScheduleRecomputeBase<ScheduleRecompute> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    if (!micro)
      return;
    for (auto checkpoint : llvm::to_vector(micro.getOps<nn::CheckpointOp>())) {
      Operation *kept = checkpoint.getKept().getDefiningOp();
      bool isCut = attributes::partPlace.get(kept) != attributes::partPlace.get(checkpoint);
      checkpoint.replaceAllUsesWith(isCut ? checkpoint.getKept() : checkpoint.getAgain());
      checkpoint.erase();
    }
    SmallVector<Operation *> ops;
    for (Operation &op : micro.getOps())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) {
      nn::AtAttr at = nn::getAt(op);
      if (at && at.getPhase() == nn::Phase::Backward && isOpTriviallyDead(op))
        op->erase();
      else
        op->removeAttr(nn::recomputeAttribute);
    }
    for (Operation &op : micro.getOps())
      attributes::weightGradient.remove(&op);
    markWeightOps(micro);
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleRecomputePass() { return std::make_unique<ScheduleRecompute>(); }

} // namespace npar::compiler
