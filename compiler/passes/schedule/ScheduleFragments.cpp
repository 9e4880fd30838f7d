// schedule-fragments: @micro and @update become fragments; variables learn where they are stored.
#include "compiler/attributes/ClauseAttributes.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/schedule/MicroFragments.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/UpdateFragments.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULEFRAGMENTS
#include "compiler/passes/schedule/Passes.h.inc"

/// Copies the ops of @count (phase C) or @start (phase P) to the fragments of their parts or stages. Nothing is sent: an op whose operand
/// belongs elsewhere, or that is on a stage without a count, is an error.
static LogicalResult outlinePrologue(func::FuncOp function, pipe::Phase phase, Fragments &fragments) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    int64_t part = attributes::partPlace.get(&op).value_or(0);
    FragmentKey place{phase == pipe::Phase::Count ? part : fragments.stageOf({part, pipe::Phase::Count}), phase};
    if (!fragments.at(place))
      return op.emitError("the prologue counts nothing on stage ") << fragments.stageOf(place);
    for (Value operand : op.getOperands())
      if (!fragments.lookup(place, operand)) {
        InFlightDiagnostic error = op.emitError("the prologue uses a value of another stage or part");
        error.attachNote(operand.getLoc()) << "the value is defined here";
        return error;
      }
    fragments.clone(&op, place);
  }
  return success();
}

namespace {

struct ScheduleFragments : impl::ScheduleFragmentsBase<ScheduleFragments> {
  using ScheduleFragmentsBase::ScheduleFragmentsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto micro = module.lookupSymbol<func::FuncOp>("micro"), update = module.lookupSymbol<func::FuncOp>("update");
    if (!micro || (!update && !isForwardOnly(module))) {
      module.emitError("needs the functions @micro and @update");
      return signalPassFailure();
    }
    FailureOr<pipe::ProgramOp> program = programOf(module);
    if (failed(program))
      return signalPassFailure();
    Fragments fragments(*program);
    SmallVector<func::FuncOp> prologue;
    for (auto [name, phase] : {std::pair("count", pipe::Phase::Count), std::pair("start", pipe::Phase::Prologue)})
      if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
        prologue.push_back(function);
        if (failed(outlinePrologue(function, phase, fragments)))
          return signalPassFailure();
      }
    if (failed(outlineMicro(micro, fragments)))
      return signalPassFailure();
    std::optional<attributes::ServersClause> servers = attributes::getServers(module);
    llvm::StringMap<Stages> stored = findStages(module, servers.has_value());
    if (update)
      outlineUpdate(update, fragments, stored, servers ? StageAxes{{}, servers->axis} : StageAxes{program->getAxisAttr(), {}});
    for (nn::VariableOp variable : module.getOps<nn::VariableOp>())
      attributes::stages.set(variable, Builder(module.getContext()).getI64ArrayAttr(stored[nn::pathOf(variable)]).getValue());
    for (func::FuncOp function : prologue)
      function.erase();
    micro.erase();
    if (update)
      update.erase();
  }

  /// Variables are stored on the stages that use them: a parameter and its states where it is read, an accumulator where it is accumulated,
  /// a variable of the prologue where it is written. A variable that no micro-batch touches is stored with its parameter on stage 0. With
  /// `central` all states of the optimizer are on stage 0.
  llvm::StringMap<Stages> findStages(ModuleOp module, bool isCentral) {
    llvm::StringMap<Stages> stored;
    auto touch = [&](StringRef name, int64_t stage) {
      Stages &stages = stored[name];
      auto place = llvm::lower_bound(stages, stage);
      if (place == stages.end() || *place != stage)
        stages.insert(place, stage);
    };
    for (pipe::FragmentOp fragment : module.getOps<pipe::FragmentOp>())
      for (Operation &op : fragment.getBody().getOps()) {
        if (auto read = dyn_cast<nn::ReadOp>(op))
          touch(read.getVariable(), fragment.getStage());
        else if (auto accumulate = dyn_cast<nn::AccumulateOp>(op))
          touch(accumulate.getVariable(), fragment.getStage());
        else if (auto write = dyn_cast<nn::WriteOp>(op))
          touch(write.getVariable(), fragment.getStage());
      }
    for (nn::VariableOp variable : module.getOps<nn::VariableOp>())
      if (variable.isKind(nn::VariableKind::Parameter) && stored[nn::pathOf(variable)].empty())
        stored[nn::pathOf(variable)] = {0};
    for (nn::VariableOp variable : module.getOps<nn::VariableOp>()) {
      Stages &stages = stored[nn::pathOf(variable)];
      if (!stages.empty() || variable.isKind(nn::VariableKind::Output))
        continue;
      Stages parameter = variable.getOf() ? stored.lookup(*variable.getOf()) : Stages();
      if (variable.isKind(nn::VariableKind::State) && !parameter.empty() && !isCentral)
        stages = parameter;
      else
        stages = {parameter.empty() ? 0 : parameter.front()};
    }
    return stored;
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleFragmentsPass() { return std::make_unique<ScheduleFragments>(); }

} // namespace npar::compiler
