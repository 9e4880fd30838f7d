// schedule-stages: cuts the chain of blocks into stages of balanced cost and marks every op of @micro with its stage.
#include "compiler/cost/Balance.h"
#include "compiler/passes/schedule/OpCost.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar {

#define GEN_PASS_DEF_SCHEDULESTAGES
#include "compiler/passes/schedule/Passes.h.inc"

FailureOr<Pipeline> pipelineOf(ModuleOp module) {
  Pipeline pipeline;
  auto schedule = module->getAttrOfType<StringAttr>("pipe.schedule");
  pipeline.schedule = schedule ? schedule.str() : "1f1b";
  if (auto micros = module->getAttrOfType<IntegerAttr>("npar.micro_count"))
    pipeline.micros = micros.getInt();
  if (pipeline.micros < 1)
    return module.emitError("there are ") << pipeline.micros << " micro-batches; there must be at least one";
  pipeline.axis = module->getAttrOfType<StringAttr>("pipe.axis");
  if (!pipeline.axis)
    return pipeline;
  pipeline.stages = dist::meshOf(module).sizeOf(pipeline.axis);
  if (pipeline.stages < 1)
    return module.emitError("the mesh has no axis '") << pipeline.axis.getValue() << "' for the pipeline";
  return pipeline;
}

namespace {

/// Costs along the chain.
struct ChainCosts {
  double before = 0, after = 0;
  std::vector<double> blocks;
};

struct ScheduleStages : impl::ScheduleStagesBase<ScheduleStages> {
  using ScheduleStagesBase::ScheduleStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Pipeline> pipeline = pipelineOf(module);
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    if (succeeded(pipeline) && !micro)
      module.emitError("there is no function @micro to schedule");
    if (failed(pipeline) || !micro || failed(completePlaces(micro)))
      return signalPassFailure();

    int64_t length = chainLength(module, micro);
    FailureOr<SmallVector<int64_t>> stageOfBlock = assignBlocks(module, micro, length, pipeline->stages);
    if (failed(stageOfBlock))
      return signalPassFailure();
    Builder builder(module.getContext());
    for (Operation &op : micro.getOps()) {
      nn::AtAttr at = nn::getAt(&op);
      if (!at)
        continue;
      int64_t block = at.getBlock();
      int64_t stage = block < 0 ? 0 : block >= length ? pipeline->stages - 1 : (*stageOfBlock)[block];
      op.setAttr(stageAttribute, builder.getI64IntegerAttr(stage));
    }
  }

  /// Ops that passes have put in without a place have that of the op behind their first operand.
  LogicalResult completePlaces(func::FuncOp micro) {
    for (Operation &op : micro.getOps()) {
      if (nn::getAt(&op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      Operation *source = op.getNumOperands() ? op.getOperand(0).getDefiningOp() : nullptr;
      if (!source || !nn::getAt(source))
        return op.emitError("has no place in the model (attribute 'at'), and no operand to take it from");
      nn::setAt(&op, nn::getAt(source));
    }
    return success();
  }

  /// The number of repeated blocks. Where the module does not say it: the loss comes after the last block, so its number is that.
  int64_t chainLength(ModuleOp module, func::FuncOp micro) {
    if (auto blocks = module->getAttrOfType<IntegerAttr>("npar.blocks"))
      return blocks.getInt();
    int64_t length = 0;
    for (Operation &op : micro.getOps())
      if (nn::AtAttr at = nn::getAt(&op))
        length = std::max(length, at.getBlock());
    return length;
  }

  ChainCosts chainCosts(ModuleOp module, func::FuncOp micro, int64_t length) {
    ChainCosts costs;
    costs.blocks.assign(length, 0);
    dist::MeshAttr mesh = dist::meshOf(module);
    for (Operation &op : micro.getOps()) {
      nn::AtAttr at = nn::getAt(&op);
      if (!at)
        continue;
      int64_t block = at.getBlock();
      double &cost = block < 0 ? costs.before : block >= length ? costs.after : costs.blocks[block];
      cost += opSeconds(&op, cost::Machine(), mesh);
    }
    return costs;
  }

  FailureOr<SmallVector<int64_t>> assignBlocks(ModuleOp module, func::FuncOp micro, int64_t length, int64_t stages) {
    SmallVector<int64_t> stageOfBlock(length, 0);
    if (stages == 1)
      return stageOfBlock;
    ChainCosts costs = chainCosts(module, micro, length);
    std::vector<int> counts = cost::balanceBlocks(costs.blocks, stages, costs.before, costs.after);
    if (counts.empty())
      return module.emitError("the pipeline has ") << stages << " stages but the model repeats only " << length << " blocks";
    int64_t block = 0;
    for (int64_t stage = 0; stage < stages; ++stage)
      for (int count = 0; count < counts[stage]; ++count)
        stageOfBlock[block++] = stage;
    return stageOfBlock;
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleStagesPass() { return std::make_unique<ScheduleStages>(); }

} // namespace npar
