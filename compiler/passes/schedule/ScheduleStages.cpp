// schedule-stages: cuts the chain of blocks into parts, balanced over the stages, marks every op of @micro, and states the pipe.program.
#include "compiler/cost/Balance.h"
#include "compiler/passes/schedule/OpCost.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar {

#define GEN_PASS_DEF_SCHEDULESTAGES
#include "compiler/passes/schedule/Passes.h.inc"

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

    // Where the parts are does not depend on what they cost.
    schedules::Request request;
    request.stages = static_cast<int>(pipeline->stages);
    request.micros = static_cast<int>(pipeline->micros);
    request.chunks = static_cast<int>(pipeline->chunks);
    FailureOr<schedules::Schedule> schedule = makeSchedule(module, pipeline->schedule, pipeline->text, request);
    if (failed(schedule))
      return signalPassFailure();
    int64_t length = chainLength(module, micro);
    FailureOr<SmallVector<int64_t>> placeOfBlock = assignBlocks(module, micro, length, *schedule);
    if (failed(placeOfBlock))
      return signalPassFailure();
    Builder builder(module.getContext());
    int64_t last = static_cast<int64_t>(schedule->placement.size()) - 1;
    for (Operation &op : micro.getOps())
      if (nn::AtAttr at = nn::getAt(&op)) {
        int64_t block = at.getBlock();
        int64_t place = block < 0 ? 0 : block >= length ? last : (*placeOfBlock)[block];
        op.setAttr(placeAttribute, builder.getI64IntegerAttr(place));
      }
    markWeightOps(micro);
    stateProgram(*pipeline, micro, schedule->placement);
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

  ChainCosts chainCosts(func::FuncOp micro, int64_t length) {
    ChainCosts costs;
    costs.blocks.assign(length, 0);
    dist::MeshAttr mesh = dist::meshOf(getOperation());
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

  FailureOr<SmallVector<int64_t>> assignBlocks(ModuleOp module, func::FuncOp micro, int64_t length, const schedules::Schedule &schedule) {
    SmallVector<int64_t> placeOfBlock(length, 0);
    if (schedule.placement.size() == 1)
      return placeOfBlock;
    ChainCosts costs = chainCosts(micro, length);
    std::vector<int> counts = cost::balanceParts(costs.blocks, schedule.placement, costs.before, costs.after);
    if (counts.empty()) {
      InFlightDiagnostic error = module.emitError("the pipeline has ") << schedule.stages() << " stages";
      if (schedule.chunks > 1)
        error << " of " << schedule.chunks << " chunks, " << schedule.placement.size() << " parts,";
      return error << " but the model repeats only " << length << " blocks";
    }
    int64_t block = 0;
    for (auto [place, count] : llvm::enumerate(counts))
      for (int i = 0; i < count; ++i)
        placeOfBlock[block++] = static_cast<int64_t>(place);
    return placeOfBlock;
  }

  void stateProgram(const Pipeline &pipeline, func::FuncOp micro, const schedules::Placement &placement) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    DenseI64ArrayAttr placed; // left out where part and stage are the same
    if (static_cast<int64_t>(placement.size()) > pipeline.stages)
      placed = builder.getDenseI64ArrayAttr(SmallVector<int64_t>(placement.begin(), placement.end()));
    auto program = pipe::ProgramOp::create(builder, getOperation().getLoc(), builder.getStringAttr(pipeline.schedule), pipeline.axis,
                                           pipeline.stages, pipeline.micros, placed, DenseF64ArrayAttr(), DenseF64ArrayAttr(),
                                           DenseF64ArrayAttr(), FloatAttr(), pipeline.text);
    if (pipeline.stages == 1)
      return;
    SmallVector<double> forward(pipeline.stages, 0), backward = forward, weight = forward;
    SmallVector<double> leaving(placement.size(), 0); // bytes
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    for (Operation &op : micro.getOps()) {
      auto place = op.getAttrOfType<IntegerAttr>(placeAttribute);
      if (!place)
        continue;
      bool isForward = nn::getAt(&op).getPhase() == nn::Phase::F;
      SmallVector<double> &costs = isForward ? forward : op.hasAttr(weightAttribute) ? weight : backward;
      costs[placement[place.getInt()]] += opSeconds(&op, cost::Machine(), mesh);
      for (Value result : op.getResults())
        if (isForward && !isRepeated(&op) && llvm::any_of(result.getUsers(), [&](Operation *user) {
              auto other = user->getAttrOfType<IntegerAttr>(placeAttribute);
              return other && other.getInt() > place.getInt();
            }))
          leaving[place.getInt()] += tensorBytes(result.getType());
    }
    program.setForward(forward);
    program.setBackward(backward);
    program.setWeight(weight);
    double most = *std::max_element(leaving.begin(), leaving.end());
    program.setTransferAttr(builder.getF64FloatAttr(most > 0 ? cost::transferSeconds(cost::Machine(), most) : 0));
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleStagesPass() { return std::make_unique<ScheduleStages>(); }

} // namespace npar
