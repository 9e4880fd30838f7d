// schedule-tasks: the program's schedule, made for its costs, becomes one pipe.order per stage.
#include "compiler/Coded.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/Stages.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <optional>
#include <utility>

using namespace mlir;

namespace npar::compiler {

#define GEN_PASS_DEF_SCHEDULETASKS
#include "compiler/passes/schedule/Passes.h.inc"

namespace {

struct ScheduleTasks : impl::ScheduleTasksBase<ScheduleTasks> {
  using ScheduleTasksBase::ScheduleTasksBase;

  void runOnOperation() override {
    FailureOr<pipe::ProgramOp> program = programOf(getOperation());
    if (failed(program))
      return signalPassFailure();
    FailureOr<schedules::Schedule> schedule =
        getAnalysis<ScheduleMaker>().make(*program, program->getSchedule(), program->getTextAttr(), requestOf(*program));
    if (failed(schedule) || failed(checkPlacement(*program, *schedule)) || failed(checkTotals(*program, *schedule)))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    for (int stage = 0; stage < schedule->stages(); ++stage) {
      SmallVector<std::string> names = prologueOf(*program, stage);
      names.append(tasksOf(*schedule, stage));
      SmallVector<StringRef> tasks(names.begin(), names.end());
      pipe::OrderOp::create(builder, program->getLoc(), stage, builder.getStrArrayAttr(tasks));
    }
  }

  schedules::Request requestOf(pipe::ProgramOp program) {
    schedules::Request request;
    request.stages = static_cast<int>(program.getStages());
    request.micros = static_cast<int>(program.getMicroCount());
    request.chunks = static_cast<int>(program.getStageOfPlace().size()) / request.stages;
    if (program.getForward() && program.getBackward() && program.getWeight())
      for (auto [forward, backward, weight] : llvm::zip(*program.getForward(), *program.getBackward(), *program.getWeight()))
        request.costs.push_back({forward, backward, weight});
    if (program.getTransfer())
      request.transfer = program.getTransfer()->convertToDouble();
    if (program.getLive())
      request.memoryCap = program.getLive()->convertToDouble();
    return request;
  }

  LogicalResult checkPlacement(pipe::ProgramOp program, const schedules::Schedule &schedule) {
    if (llvm::equal(program.getStageOfPlace(), schedule.placement))
      return success();
    return program.emitError("schedule '") << dsl::Code::M11 << program.getSchedule()
                                           << "' places the parts of the chain otherwise than the program says";
  }

  /// The backward pass may read what all forwards add up (prepare-totals): then each stage has its forwards first.
  LogicalResult checkTotals(pipe::ProgramOp program, const schedules::Schedule &schedule) {
    auto micro = getOperation().lookupSymbol<func::FuncOp>("micro");
    nn::ReadOp total = micro ? readOfTotal(micro) : nn::ReadOp();
    if (!total)
      return success();
    for (auto [stage, list] : llvm::enumerate(schedule.lists)) {
      auto isForward = [](const schedules::Task &task) { return task.phase == schedules::Phase::F; };
      auto backward = llvm::find_if_not(list, isForward);
      auto late = std::find_if(backward, list.end(), isForward);
      if (late == list.end())
        continue;
      InFlightDiagnostic error = total.emitError("a sum over all samples of a step is known after the last forward pass, but schedule '")
                                 << dsl::Code::N12;
      error << program.getSchedule() << "' begins with the backward pass of micro-batch " << backward->micro
            << " before the forward pass of " << late->micro << " on stage " << stage;
      error.attachNote(total.getLoc()) << "help: choose a schedule that has all forward passes first, such as `by gpipe`, or make 'micro' "
                                       << program.getMicroCount() << " times as large for a single micro-batch";
      return error;
    }
    return success();
  }

  /// Tasks before the first forward: the counts of all micro-batches, then the prologue that reads them.
  SmallVector<std::string> prologueOf(pipe::ProgramOp program, int64_t stage) {
    SmallVector<std::string> names;
    for (int64_t part : countedParts(getOperation()))
      if (program.getStageOfPlace()[part] == stage)
        for (int64_t micro = 0; micro < program.getMicroCount(); ++micro)
          names.push_back(fragmentName(pipe::Phase::Count, part) + ":" + std::to_string(micro));
    if (!names.empty())
      names.push_back(fragmentName(pipe::Phase::Prologue, stage));
    return names;
  }

  /// A whole backward in a part where others are split is B and W, one after the other. Where nothing is trained the forwards keep their
  /// order: it is one that ends, for what a forward waits for is a forward.
  SmallVector<std::string> tasksOf(const schedules::Schedule &schedule, int stage) {
    bool forwardOnly = isForwardOnly(getOperation());
    SmallVector<int64_t> places;
    for (int chunk = 0; chunk < schedule.chunks; ++chunk)
      places.push_back(schedule.place(stage, chunk));
    SmallVector<bool> split(schedule.chunks, false);
    llvm::DenseSet<std::pair<int, int>> weights; // chunk, micro-batch
    for (const schedules::Task &task : schedule.lists[stage])
      if (task.phase == schedules::Phase::W) {
        split[task.chunk] = true;
        weights.insert({task.chunk, task.micro});
      }
    SmallVector<std::string> names;
    auto add = [&](pipe::Phase phase, const schedules::Task &task, bool overlaps) {
      names.push_back((overlaps ? "+" : "") + fragmentName(phase, places[task.chunk]) + ":" + std::to_string(task.micro));
    };
    std::optional<schedules::Task> later; // the W of a backward that another task overlaps
    for (const schedules::Task &task : schedule.lists[stage]) {
      if (forwardOnly && task.phase != schedules::Phase::F)
        continue;
      if (later && !task.overlaps)
        add(pipe::Phase::Weight, *std::exchange(later, std::nullopt), false);
      add(seamOf(task.phase), task, task.overlaps && !forwardOnly);
      if (task.phase == schedules::Phase::B && split[task.chunk] && !weights.contains({task.chunk, task.micro}))
        later = task;
    }
    if (later)
      add(pipe::Phase::Weight, *later, false);
    if (!forwardOnly)
      names.push_back(fragmentName(pipe::Phase::Update, stage));
    return names;
  }
};

} // namespace

std::unique_ptr<Pass> createScheduleTasksPass() { return std::make_unique<ScheduleTasks>(); }

} // namespace npar::compiler
