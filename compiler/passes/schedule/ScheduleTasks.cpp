// schedule-tasks: the named schedule's task lists become one pipe.order per stage.
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/schedules/Schedule.h"
#include "compiler/schedules/Validate.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace npar {

#define GEN_PASS_DEF_SCHEDULETASKS
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

struct ScheduleTasks : impl::ScheduleTasksBase<ScheduleTasks> {
  using ScheduleTasksBase::ScheduleTasksBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = module.getOps<pipe::ProgramOp>();
    if (programs.empty()) {
      module.emitError("there is no pipe.program to schedule");
      return signalPassFailure();
    }
    pipe::ProgramOp program = *programs.begin();
    const schedules::ScheduleKind *kind = schedules::findSchedule(program.getSchedule().str());
    if (!kind) {
      refuseUnknown(program);
      return signalPassFailure();
    }
    schedules::Request request;
    request.stages = program.getStages();
    request.micros = program.getMicroCount();
    schedules::Made made = schedules::makeSchedule(*kind, request);
    if (!made.refusal.empty()) {
      program.emitError(made.refusal);
      return signalPassFailure();
    }
    const schedules::TaskLists &lists = made.schedule.lists;
    if (failed(accept(program, made.schedule)))
      return signalPassFailure();

    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (int64_t stage = 0; stage < program.getStages(); ++stage) {
      SmallVector<std::string> names;
      for (const schedules::Task &task : lists[stage])
        names.push_back(schedules::letter(task.phase) + std::to_string(stage) + ":" + std::to_string(task.micro));
      names.push_back("U" + std::to_string(stage));
      SmallVector<StringRef> tasks(names.begin(), names.end());
      pipe::OrderOp::create(builder, program.getLoc(), stage, builder.getStrArrayAttr(tasks));
    }
  }

  void refuseUnknown(pipe::ProgramOp program) {
    std::string known;
    for (const schedules::ScheduleKind &kind : schedules::scheduleKinds())
      known += (known.empty() ? "" : ", ") + std::string(kind.name);
    program.emitError("there is no schedule '") << program.getSchedule() << "'; there are: " << known;
  }

  LogicalResult accept(pipe::ProgramOp program, const schedules::Schedule &schedule) {
    std::vector<schedules::ScheduleError> errors = schedules::validate(schedule);
    for (const schedules::ScheduleError &error : errors)
      program.emitError("schedule '") << program.getSchedule() << "', stage " << error.stage << ": " << error.reason;
    return success(errors.empty());
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleTasksPass() { return std::make_unique<ScheduleTasks>(); }

} // namespace npar
