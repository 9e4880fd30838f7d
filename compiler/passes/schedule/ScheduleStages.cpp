// schedule-stages: cuts the chain of blocks into parts, balanced over the stages, and marks every op with its part.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/cost/Balance.h"
#include "compiler/dialects/dist/ModuleMachine.h"
#include "compiler/dialects/nn/ops/ExistingRows.h"
#include "compiler/passes/schedule/OpCost.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/StageMachines.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"
#include "compiler/schedules/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <algorithm>
#include <optional>

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULESTAGES
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

/// The cost of the ops of @micro on some machines, by their place in the chain of blocks.
struct Chain {
  std::vector<schedules::StageCost> blocks; ///< F, B and W of each block
  schedules::StageCost before, after;

  static double total(const schedules::StageCost &cost) { return cost.forward + cost.backward + cost.weight; }
  cost::ChainCosts totals() const {
    cost::ChainCosts costs{{}, total(before), total(after)};
    for (const schedules::StageCost &block : blocks)
      costs.blocks.push_back(total(block));
    return costs;
  }
};

/// The chain on each stage: one for all, or where machines are uneven by their sets.
struct Chains {
  StageMachines machines;
  std::vector<Chain> of; ///< the sets of machines
  double transfer = 0;   ///< the longest message from a block to the next

  const Chain &on(int64_t stage) const { return of[machines.setOf(stage)]; }
  size_t length() const { return of.front().blocks.size(); }
};

void add(schedules::StageCost &sum, const schedules::StageCost &cost) {
  sum.forward += cost.forward;
  sum.backward += cost.backward;
  sum.weight += cost.weight;
}

/// The distribution of the blocks over parts and stages.
struct Parts {
  schedules::Placement placement;
  std::vector<int> counts;                 ///< blocks of each part
  std::vector<schedules::StageCost> costs; ///< of each stage
  std::optional<schedules::Schedule> kept; ///< the schedule, where these costs would not lead to it again
};

struct ScheduleStages : impl::ScheduleStagesBase<ScheduleStages> {
  using ScheduleStagesBase::ScheduleStagesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Pipeline> pipeline = pipelineOf(module);
    auto micro = module.lookupSymbol<func::FuncOp>("micro");
    if (succeeded(pipeline) && !micro)
      module.emitError("there is no function @micro to schedule");
    if (failed(pipeline) || !micro)
      return signalPassFailure();
    SmallVector<func::FuncOp> placed{micro};
    for (StringRef prologue : {"count", "start"})
      if (auto function = module.lookupSymbol<func::FuncOp>(prologue))
        placed.push_back(function);
    for (func::FuncOp function : placed)
      if (failed(completePlaces(function)))
        return signalPassFailure();

    int64_t length = chainLength(module, micro);
    markWeightOps(micro);
    FailureOr<StageMachines> machines = StageMachines::of(module, pipeline->axis, pipeline->stages);
    if (failed(machines))
      return signalPassFailure();
    Chains chain = measure(micro, length, pipeline->axis, std::move(*machines));
    FailureOr<Parts> parts = failure();
    if (succeeded(checkCounts(*pipeline, chain)))
      parts = cut(*pipeline, chain);
    if (failed(parts))
      return signalPassFailure();
    SmallVector<int64_t> placeOfBlock;
    for (auto [place, count] : llvm::enumerate(parts->counts))
      placeOfBlock.append(count, static_cast<int64_t>(place));
    for (func::FuncOp function : placed)
      for (Operation &op : function.getOps())
        if (nn::AtAttr at = nn::getAt(&op)) {
          int64_t block = at.getBlock(), last = static_cast<int64_t>(parts->placement.size()) - 1;
          int64_t place = block < 0 ? 0 : block >= length ? last : placeOfBlock[block];
          attributes::partPlace.set(&op, place);
        }
    stateProgram(*pipeline, *parts, chain.transfer);
  }

  /// Ops that passes have put in without a place have that of the op after their first operand.
  LogicalResult completePlaces(func::FuncOp function) {
    for (Operation &op : function.getOps()) {
      if (nn::getAt(&op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      Operation *source = op.getNumOperands() ? op.getOperand(0).getDefiningOp() : nullptr;
      if (!source || !nn::getAt(source))
        return op.emitError("has no place in the model (attribute 'at'), and no operand to take it from");
      nn::setAt(&op, nn::getAt(source));
    }
    return success();
  }

  /// The number of repeated blocks. If the module does not state it, it is the block number of the loss, which follows the last block.
  int64_t chainLength(ModuleOp module, func::FuncOp micro) {
    if (std::optional<int64_t> blocks = attributes::blocks.get(module))
      return *blocks;
    int64_t length = 0;
    for (Operation &op : micro.getOps())
      if (nn::AtAttr at = nn::getAt(&op))
        length = std::max(length, at.getBlock());
    return length;
  }

  Chains measure(func::FuncOp micro, int64_t length, StringAttr axis, StageMachines machines) {
    const schedules::StageCost nothing{0, 0, 0};
    size_t sets = machines.sets().size();
    Chains chains{std::move(machines), {sets, {std::vector<schedules::StageCost>(length, nothing), nothing, nothing}}};
    std::vector<double> leaving(length + 1, 0); // bytes that a block, or what is before the chain, sends on
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    llvm::DenseMap<Operation *, nn::ExistingRows> existing = nn::existingRows(micro.front());
    for (Operation &op : micro.getOps()) {
      nn::AtAttr at = nn::getAt(&op);
      if (!at)
        continue;
      auto rows = existing.find(&op);
      double filled = rows == existing.end() ? 1 : rows->second.filled;
      int64_t block = at.getBlock();
      bool isForward = at.getPhase() == nn::Phase::Forward;
      for (size_t set = 0; set < sets; ++set) {
        Chain &chain = chains.of[set];
        schedules::StageCost &cost = block < 0 ? chain.before : block >= length ? chain.after : chain.blocks[block];
        double seconds = 0;
        for (const cost::Machine &machine : chains.machines.sets()[set])
          seconds = std::max(seconds, opSeconds(&op, machine, mesh, filled));
        (isForward ? cost.forward : attributes::weightGradient.isOn(&op) ? cost.weight : cost.backward) += seconds;
      }
      if (!isForward || isRepeated(&op) || block >= length)
        continue;
      for (Value result : op.getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return nn::getAt(user) && nn::getAt(user).getBlock() > block; }))
          leaving[std::max<int64_t>(block + 1, 0)] += tensorBytes(result.getType());
    }
    double most = *std::max_element(leaving.begin(), leaving.end());
    const cost::Machine machine = sets == 1 ? chains.machines.machinesOf(0).front() : dist::machineOf(getOperation());
    cost::LinkLevel level = axis ? dist::spanOf(machine, mesh, {axis}).level : cost::LinkLevel::Host;
    if (sets > 1)
      level = cost::LinkLevel::Cluster;
    chains.transfer = most > 0 ? cost::transferSeconds(machine, most, level) : 0;
    return chains;
  }

  /// Checks the block counts per part in the plan; the language has checked them already if it knew enough.
  LogicalResult checkCounts(const Pipeline &pipeline, const Chains &chain) {
    ArrayRef<int64_t> counts = pipeline.counts;
    if (counts.empty())
      return success();
    if (counts.size() % pipeline.stages != 0)
      return getOperation().emitError("the plan counts the blocks of ")
             << dsl::Code::P9 << counts.size() << " parts, but the pipeline has " << pipeline.stages << " stages";
    int64_t sum = 0;
    for (auto [part, count] : llvm::enumerate(counts)) {
      if (count < 0 || (count == 0 && part != 0 && part + 1 != counts.size()))
        return getOperation().emitError("part ") << dsl::Code::P9 << part << " of " << counts.size() << " has " << count
                                                 << " blocks; only the first and the last can do without one";
      sum += count;
    }
    if (sum != static_cast<int64_t>(chain.length()))
      return getOperation().emitError("stages hold ") << dsl::Code::P9 << sum << " of " << chain.length() << " blocks";
    return success();
  }

  /// Cuts for the plain pipeline, to have costs; where the schedule made for these places the parts otherwise, cuts again.
  FailureOr<Parts> cut(const Pipeline &pipeline, const Chains &chain) {
    schedules::Request request;
    request.stages = static_cast<int>(pipeline.stages);
    request.micros = static_cast<int>(pipeline.micros);
    request.chunks = static_cast<int>(pipeline.chunks);
    request.transfer = chain.transfer;
    request.memoryCap = pipeline.live;
    // A schedule kind that chooses its number of chunks follows the counts of the plan; without enough blocks for two chunks it uses one.
    const schedules::ScheduleKind *kind = pipeline.text ? nullptr : schedules::findSchedule(pipeline.schedule);
    if (kind && kind->chunks == 0 && request.chunks == 0) {
      if (!pipeline.counts.empty())
        request.chunks = static_cast<int>(pipeline.counts.size()) / request.stages;
      else if (static_cast<int64_t>(chain.length()) < 2 * pipeline.stages)
        request.chunks = 1;
    }

    FailureOr<Parts> plain = cutPlain(pipeline, chain);
    if (failed(plain))
      return failure();
    request.costs = plain->costs;
    FailureOr<schedules::Schedule> schedule = getAnalysis<ScheduleMaker>().make(getOperation(), pipeline.schedule, pipeline.text, request);
    if (failed(schedule) || failed(checkLive(getOperation(), pipeline, *schedule)))
      return failure();
    if (schedule->placement == plain->placement)
      return plain;
    FailureOr<Parts> parts = cutFor(pipeline, chain, schedule->placement, schedule->chunks);
    if (failed(parts))
      return failure();
    request.costs = parts->costs;
    request.chunks = schedule->chunks;
    FailureOr<schedules::Schedule> again = getAnalysis<ScheduleMaker>().make(getOperation(), pipeline.schedule, pipeline.text, request);
    if (failed(again))
      return failure();
    if (again->placement != schedule->placement)
      parts->kept = *schedule;
    return parts;
  }

  /// Cuts one part per stage. Where the plan counts the blocks of more, only the costs are asked for: each stage has an equal share.
  FailureOr<Parts> cutPlain(const Pipeline &pipeline, const Chains &chain) {
    schedules::Placement placement = schedules::loopPlacement(static_cast<int>(pipeline.stages), 1);
    if (pipeline.counts.empty() || pipeline.counts.size() == placement.size())
      return cutFor(pipeline, chain, placement, 1);
    Parts parts;
    for (int64_t stage = 0; stage < pipeline.stages; ++stage) {
      const Chain &own = chain.on(stage);
      schedules::StageCost share{0, 0, 0};
      add(share, own.before);
      add(share, own.after);
      for (const schedules::StageCost &block : own.blocks)
        add(share, block);
      for (double *cost : {&share.forward, &share.backward, &share.weight})
        *cost /= static_cast<double>(pipeline.stages);
      parts.costs.push_back(share);
    }
    return parts;
  }

  /// Cuts the chain by the plan's counts or, where it has none, so that stages are balanced.
  FailureOr<Parts> cutFor(const Pipeline &pipeline, const Chains &chain, const schedules::Placement &placement, int chunks) {
    size_t stages = placement.size() / chunks;
    Parts parts{placement, {}, std::vector<schedules::StageCost>(stages, {0, 0, 0}), std::nullopt};
    if (!pipeline.counts.empty()) {
      if (pipeline.counts.size() != placement.size())
        return getOperation().emitError("the plan counts the blocks of ")
               << dsl::Code::P9 << pipeline.counts.size() << " parts, but the schedule has " << placement.size();
      parts.counts.assign(pipeline.counts.begin(), pipeline.counts.end());
    } else if (placement.size() == 1) {
      parts.counts = {static_cast<int>(chain.length())};
    } else {
      std::vector<cost::ChainCosts> costs;
      for (size_t stage = 0; stage < (chain.of.size() == 1 ? 1 : stages); ++stage)
        costs.push_back(chain.on(static_cast<int64_t>(stage)).totals());
      parts.counts = cost::balanceParts(costs, placement);
    }
    if (parts.counts.empty()) {
      InFlightDiagnostic error = getOperation().emitError("the pipeline has ") << dsl::Code::P9 << stages << " stages";
      if (chunks > 1)
        error << " of " << chunks << " chunks, " << placement.size() << " parts,";
      return error << " but the model repeats only " << chain.length() << " blocks";
    }
    add(parts.costs[placement.front()], chain.on(placement.front()).before);
    add(parts.costs[placement.back()], chain.on(placement.back()).after);
    size_t block = 0;
    for (size_t place = 0; place < placement.size(); ++place)
      for (int i = 0; i < parts.counts[place]; ++i)
        add(parts.costs[placement[place]], chain.on(placement[place]).blocks[block++]);
    return parts;
  }

  void stateProgram(const Pipeline &pipeline, const Parts &parts, double transfer) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    DenseI64ArrayAttr placement; // left out where part and stage are the same
    if (static_cast<int64_t>(parts.placement.size()) > pipeline.stages)
      placement = builder.getDenseI64ArrayAttr(SmallVector<int64_t>(parts.placement.begin(), parts.placement.end()));
    StringAttr text = parts.kept ? builder.getStringAttr(schedules::printCsv(*parts.kept)) : pipeline.text;
    auto program =
        pipe::ProgramOp::create(builder, getOperation().getLoc(), builder.getStringAttr(pipeline.schedule), pipeline.axis, pipeline.stages,
                                pipeline.micros, placement, DenseF64ArrayAttr(), DenseF64ArrayAttr(), DenseF64ArrayAttr(), FloatAttr(),
                                text, pipeline.live > 0 ? builder.getF64FloatAttr(pipeline.live) : FloatAttr());
    if (pipeline.stages == 1)
      return;
    SmallVector<double> forward, backward, weight;
    for (const schedules::StageCost &cost : parts.costs) {
      forward.push_back(cost.forward);
      backward.push_back(cost.backward);
      weight.push_back(cost.weight);
    }
    program.setForward(forward);
    program.setBackward(backward);
    program.setWeight(weight);
    program.setTransferAttr(builder.getF64FloatAttr(transfer));
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleStagesPass() { return std::make_unique<ScheduleStages>(); }

} // namespace npar::compiler
