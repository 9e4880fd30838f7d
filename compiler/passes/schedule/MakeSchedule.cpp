// The pipeline and the schedule that a module asks for.
#include "compiler/Coded.h"
#include "compiler/attributes/ModuleAttributes.h"
#include "compiler/dialects/nn/ops/VariableName.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/schedules/Simulate.h"
#include "compiler/schedules/Validate.h"
#include "engine/program/Words.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace npar::compiler {

FailureOr<Pipeline> pipelineOf(ModuleOp module) {
  Pipeline pipeline;
  StringAttr schedule = attributes::schedule.get(module);
  pipeline.schedule = schedule ? schedule.str() : "1f1b";
  pipeline.text = attributes::scheduleText.get(module);
  pipeline.chunks = attributes::chunks.get(module).value_or(pipeline.chunks);
  pipeline.micros = attributes::microCount.get(module).value_or(pipeline.micros);
  pipeline.live = attributes::live.get(module).value_or(pipeline.live);
  if (pipeline.micros < 1)
    return module.emitError("there are ") << pipeline.micros << " micro-batches; there must be at least one";
  pipeline.axis = attributes::pipelineAxis.get(module);
  if (!pipeline.axis)
    return pipeline;
  pipeline.stages = dist::meshOf(module).sizeOf(pipeline.axis);
  if (pipeline.stages < 1)
    return module.emitError("the mesh has no axis '") << dsl::Code::M1 << pipeline.axis.getValue() << "' for the pipeline";
  if (auto counts = attributes::partSizes.get(module))
    pipeline.counts.assign(counts.asArrayRef().begin(), counts.asArrayRef().end());
  return pipeline;
}

/// A number of micro-batches as text; what has more than two digits after the point is rounded up, so that it is enough as a limit.
static std::string microBatches(double number) {
  std::string text = llvm::formatv("{0:f2}", std::ceil(number * 100 - 1e-6) / 100).str();
  StringRef digits = text;
  return digits.rtrim('0').rtrim('.').str();
}

nn::ReadOp readOfTotal(func::FuncOp micro) {
  SymbolTable symbols(micro->getParentOfType<ModuleOp>());
  for (nn::ReadOp read : micro.getOps<nn::ReadOp>())
    if (auto variable = nn::findVariable(symbols, read.getVariable()); variable && variable.isKind(nn::VariableKind::Accumulator))
      return read;
  return {};
}

LogicalResult checkLive(ModuleOp module, const Pipeline &pipeline, const schedules::Schedule &schedule) {
  if (pipeline.live == 0 || isForwardOnly(module))
    return success();
  // The number of micro-batches that a stage holds depends only on the order of its tasks, not on their cost.
  std::vector<double> held = schedules::simulate(schedule, std::vector<schedules::StageCost>(schedule.stages())).peakLive;
  auto most = llvm::max_element(held);
  if (*most <= pipeline.live + 1e-9)
    return success();
  auto at = attributes::liveLine.get(module);
  Location place = at ? Location(at) : module.getLoc();
  std::string keeping;
  for (const schedules::ScheduleKind &kind : schedules::scheduleKinds())
    if (kind.keepsCap)
      keeping += (keeping.empty() ? "`by " : ", `by ") + std::string(kind.name) + "`";
  InFlightDiagnostic error = emitError(place) << dsl::Code::P9;
  error << "schedule '" << pipeline.schedule << "' holds " << microBatches(*most) << " micro-batches at once on stage "
        << most - held.begin() << ", but the plan allows " << microBatches(pipeline.live);
  error.attachNote(place) << "help: it needs `live " << microBatches(*most) << "`; these schedules respect any limit: " << keeping;
  return error;
}

FailureOr<pipe::ProgramOp> programOf(ModuleOp module) {
  auto programs = module.getOps<pipe::ProgramOp>();
  if (programs.empty())
    return module.emitError("there is no pipe.program to schedule");
  return *programs.begin();
}

bool isForwardOnly(ModuleOp module) {
  return attributes::kind.isOn(module) && !attributes::kind.is(module, program::ProgramKind::Training);
}

std::string fragmentName(pipe::Phase phase, int64_t placeOrStage) {
  // `export` adds a fragment P0 that clears what is accumulated; what @start does comes after the counts.
  return (Twine(phase == pipe::Phase::Prologue ? "S" : wordOf(phase)) + Twine(placeOrStage)).str();
}

SmallVector<int64_t> countedParts(ModuleOp module) {
  SmallVector<int64_t> parts;
  if (auto count = module.lookupSymbol<func::FuncOp>("count"))
    for (Operation &op : count.getOps())
      if (std::optional<int64_t> place = attributes::partPlace.get(&op))
        parts.push_back(*place);
  llvm::sort(parts);
  parts.erase(llvm::unique(parts), parts.end());
  return parts;
}

static LogicalResult refuseUnknown(Operation *op, StringRef name) {
  std::string known;
  for (const schedules::ScheduleKind &kind : schedules::scheduleKinds())
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  return op->emitError("there is no schedule '") << dsl::Code::P9 << name << "'; there are: " << known;
}

/// A schedule that the plan's file states: it must be for this pipeline.
FailureOr<schedules::Schedule> ScheduleMaker::read(Operation *op, StringRef name, StringAttr text, const schedules::Request &request) {
  auto [entry, isNew] = texts.try_emplace(text);
  schedules::ReadSchedule &read = entry->second;
  if (isNew)
    read = schedules::checkCsv(std::string_view(text.data(), text.size()));
  for (const schedules::TextError &error : read.errors)
    op->emitError("schedule '") << dsl::Code::M11 << name << "', line " << error.at.row << ", column " << error.at.column << ", stage "
                                << error.stage << ": " << error.reason;
  if (!read.errors.empty())
    return failure();
  auto refuse = [&](const char *what, int64_t has, int64_t wanted) {
    return op->emitError("schedule '") << dsl::Code::M11 << name << "' has " << has << ' ' << what << ", the plan " << wanted;
  };
  if (read.schedule.stages() != request.stages)
    return refuse("stages", read.schedule.stages(), request.stages);
  if (read.schedule.micros != request.micros)
    return refuse("micro-batches", read.schedule.micros, request.micros);
  if (request.chunks && read.schedule.chunks != request.chunks)
    return refuse("chunks per stage", read.schedule.chunks, request.chunks);
  return read.schedule;
}

FailureOr<schedules::Schedule> ScheduleMaker::make(Operation *op, StringRef name, StringAttr text, schedules::Request request) {
  if (text)
    return read(op, name, text, request);
  const schedules::ScheduleKind *kind = schedules::findSchedule(name.str());
  if (!kind)
    return refuseUnknown(op, name);
  if (request.chunks == 0)
    request.chunks = kind->chunks;
  auto known = llvm::find_if(made, [&](const Entry &entry) { return entry.kind == kind && entry.request == request; });
  if (known != made.end())
    return known->schedule;
  schedules::Made answer = schedules::makeSchedule(*kind, request);
  if (!answer.refusal.empty())
    return op->emitError(answer.refusal) << dsl::Code::P9;
  std::vector<schedules::ScheduleError> errors = schedules::validate(answer.schedule);
  for (const schedules::ScheduleError &error : errors)
    op->emitError("schedule '") << name << "', stage " << error.stage << ": " << error.reason;
  if (!errors.empty())
    return failure();
  // Who states the number of chunks that a search has chosen means that schedule.
  if (request.chunks == 0) {
    made.push_back({kind, request, answer.schedule});
    request.chunks = answer.schedule.chunks;
  }
  made.push_back({kind, std::move(request), answer.schedule});
  return answer.schedule;
}

} // namespace npar::compiler
