// schedule-servers: makes a stage of each rank along the batch's axis, whose programs are equal until here.
#include "compiler/Coded.h"
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/passes/schedule/LossPart.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/schedule/WeightOps.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULESERVERS
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

/// Writes the ops of a function once for each rank. The part of a rank has the rank's number; the ops of the loss part become one more
/// part, the last.
class RankCopier {
public:
  RankCopier(func::FuncOp function, int64_t ranks, const LossPart *loss)
      : function(function), builder(OpBuilder::atBlockEnd(&function.front())), loss(loss), own(ranks), central(ranks) {}

  void run() {
    SmallVector<Operation *> forward, backward;
    for (Operation &op : function.front().without_terminator())
      (isBackward(&op) ? backward : forward).push_back(&op);
    Operation *end = function.front().getTerminator();
    builder.setInsertionPoint(end);
    copyOwn(forward);
    copyLoss(forward);
    copyLoss(backward);
    copyOwn(backward);
    for (Operation *op : llvm::reverse(backward))
      op->erase();
    for (Operation *op : llvm::reverse(forward))
      op->erase();
  }

private:
  bool isOfLoss(Operation *op) const { return loss && loss->contains(op); }
  int64_t ranks() const { return static_cast<int64_t>(own.size()); }

  void copyOwn(ArrayRef<Operation *> ops) {
    for (int64_t rank = 0; rank < ranks(); ++rank)
      for (Operation *op : ops)
        if (!isOfLoss(op))
          attributes::partPlace.set(builder.clone(*op, own[rank]), rank);
  }

  void copyLoss(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (isOfLoss(op)) {
        if (auto accumulate = dyn_cast<nn::AccumulateOp>(op))
          copySum(accumulate);
        else
          copyCentrally(op);
      }
  }

  void copyCentrally(Operation *op) {
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      for (Value operand : op->getOperands())
        provide(operand, rank);
      attributes::partPlace.set(builder.clone(*op, central[rank]), ranks());
      for (Value result : op->getResults())
        own[rank].map(result, central[rank].lookup(result));
    }
  }

  /// The losses of all ranks are added to one accumulator, in the order of the ranks.
  void copySum(nn::AccumulateOp accumulate) {
    SmallVector<Value> values;
    for (int64_t rank = 0; rank < ranks(); ++rank)
      values.push_back(provide(accumulate.getValue(), rank));
    auto sum = nn::CombineOp::create(builder, accumulate.getLoc(), accumulate.getValue().getType(), values);
    auto copy = nn::AccumulateOp::create(builder, accumulate.getLoc(), accumulate.getVariable(), sum);
    for (Operation *op : {sum.getOperation(), copy.getOperation()}) {
      nn::setAt(op, nn::getAt(accumulate));
      attributes::partPlace.set(op, ranks());
    }
  }

  /// The value of a rank that the loss part uses.
  Value provide(Value value, int64_t rank) {
    if (Value found = central[rank].lookupOrNull(value))
      return found;
    Operation *definition = value.getDefiningOp();
    bool isInput = isa<nn::InputOp>(definition);
    if (!isRepeated(definition)) {
      central[rank].map(value, own[rank].lookup(value));
    } else if (isInput && rank == 0) {
      central[rank].map(value, own[rank].lookup(value));
    } else {
      for (Value operand : definition->getOperands())
        provide(operand, rank);
      Operation *copy = builder.clone(*definition, central[rank]);
      attributes::partPlace.set(copy, isInput ? rank : ranks());
      if (isInput)
        attributes::sentInput.set(copy);
    }
    return central[rank].lookup(value);
  }

  func::FuncOp function;
  OpBuilder builder;
  const LossPart *loss;
  SmallVector<IRMapping> own, central;
};

struct ScheduleServers : impl::ScheduleServersBase<ScheduleServers> {
  using ScheduleServersBase::ScheduleServersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<attributes::ServersClause> clause = attributes::getServers(module);
    if (!clause)
      return;
    FailureOr<pipe::ProgramOp> program = programOf(module);
    auto micro = module.lookupSymbol<func::FuncOp>("micro"), update = module.lookupSymbol<func::FuncOp>("update");
    if (failed(program) || !micro || !update)
      return signalPassFailure();
    if (failed(checkMicro(micro, *clause)) || failed(checkUpdate(update, *clause)))
      return signalPassFailure();
    const int64_t ranks = dist::meshOf(*program).sizeOf(clause->axis);
    LossPart loss(micro, clause->axis);
    RankCopier(micro, ranks, &loss).run();
    for (StringRef prologue : {"count", "start"})
      if (auto function = module.lookupSymbol<func::FuncOp>(prologue))
        RankCopier(function, ranks, nullptr).run();
    makeStages(*program, clause->axis, ranks, !loss.isEmpty());
  }

  static bool isOver(dist::CollectiveOpInterface op, StringAttr axis) { return llvm::is_contained(op.getAxes(), axis); }

  /// Refuses a program whose ranks exchange values between the parameters and the gradients.
  LogicalResult checkMicro(func::FuncOp micro, const attributes::ServersClause &clause) {
    for (Operation &op : micro.getOps())
      if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op); collective && isOver(collective, clause.axis))
        return refuse(&op, clause,
                      "the ranks along '" + clause.axis.str() +
                          "' compute their samples alone under 'central', but this "
                          "operation needs those of all");
    return success();
  }

  LogicalResult checkUpdate(func::FuncOp update, const attributes::ServersClause &clause) {
    for (Operation &op : update.getOps()) {
      auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
      if (!collective || !isOver(collective, clause.axis))
        continue;
      auto reduce = dyn_cast<dist::AllReduceOp>(op);
      if (!reduce || reduce.getOp() != program::ReduceOp::Sum)
        return refuse(&op, clause,
                      "under 'central' the first rank along '" + clause.axis.str() +
                          "' only adds up what the others send, "
                          "but this operation needs more than a sum");
    }
    return success();
  }

  static LogicalResult refuse(Operation *op, const attributes::ServersClause &clause, const std::string &what) {
    InFlightDiagnostic error = op->emitError(what) << dsl::Code::M12;
    if (clause.loc)
      error.attachNote(clause.loc) << "'central' is here";
    return error.attachNote(op->getLoc()) << "help: remove `central`", failure();
  }

  /// Of the only stage's order each stage has a copy, with the fragments of its part. The losses follow the first rank's forward.
  static void makeStages(pipe::ProgramOp program, StringAttr axis, int64_t ranks, bool hasLoss) {
    SmallVector<pipe::OrderOp> orders = llvm::to_vector(program->getParentOfType<ModuleOp>().getOps<pipe::OrderOp>());
    OpBuilder builder(orders.front());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      SmallVector<std::string> names;
      for (StringRef task : orders.front().getTasks().getAsValueRange<StringAttr>()) {
        auto [phase, micro] = task.split('0'); // "F0:2", "U0"
        auto add = [&, phase = phase, micro = micro](int64_t part) { names.push_back((phase + Twine(part) + micro).str()); };
        if (hasLoss && rank == 0 && phase == "B")
          add(ranks);
        add(rank);
        if (hasLoss && rank == 0 && phase == "F")
          add(ranks);
      }
      SmallVector<StringRef> tasks(names.begin(), names.end());
      pipe::OrderOp::create(builder, program.getLoc(), rank, builder.getStrArrayAttr(tasks));
    }
    orders.front().erase();
    SmallVector<int64_t> stageOfPart = llvm::to_vector(llvm::seq<int64_t>(0, ranks));
    if (hasLoss)
      stageOfPart.push_back(0);
    program.setAxisAttr(axis);
    program.setStages(ranks);
    program.setPlacement(stageOfPart);
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleServersPass() { return std::make_unique<ScheduleServers>(); }

} // namespace npar::compiler
