// Elaborates and compiles the text for each candidate batch.
#include "tools/npar/measure/EvaluationProgram.h"

#include "engine/runtime/MachineMemory.h"

#include <algorithm>

namespace npar::driver {
namespace {

bool isSet(const std::vector<std::string> &settings, const std::string &key) {
  return std::any_of(settings.begin(), settings.end(), [&](const std::string &one) { return one.rfind(key + "=", 0) == 0; });
}

double plannedSeconds(const program::Program &program) {
  double end = 0;
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Task *task : *rankClass->tasks())
      end = std::max(end, task->end());
  return end;
}

class Attempts {
public:
  Attempts(const EvaluationRequest &request, FileClaims &files) : request(request), files(files) {}

  Outcome<EvaluationProgram> run() {
    Outcome<ElaboratedModel> first = elaborate({}, request.withWarnings);
    if (!first.ok())
      return first.code();
    files.read(first->compilation->texts(), first->program.data);
    if (ExitCode code = files.check(); code != ExitCode::Good)
      return code;
    const dsl::Plan plan = first->program.plan;
    if (!request.ofTraining && isSet(request.options.settings, "batch")) {
      result.batch = {first->program.train.batch, training::BatchReason::Given};
      return finish(std::move(*first));
    }
    bool planned = !plan.mesh.empty() || isSet(request.options.settings, "micro");
    Outcome<training::StepCost> one = costOf(planned ? 0 : 1);
    if (!one.ok())
      return one.code();
    uint64_t free = engine::machineMemory().bytes;
    result.room = (free - std::min(free, request.taken)) / 4;
    if (planned)
      return finishPlanned(std::move(*first));
    constexpr int64_t several = 4;
    result.batch = {1, training::BatchReason::Data};
    if (result.there != 1) {
      Outcome<training::StepCost> more = costOf(several);
      if (!more.ok())
        return more.code();
      result.batch = training::chooseBatch(*one, *more, result.there, result.room);
    }
    return finishWith(result.batch.samples);
  }

private:
  Outcome<ElaboratedModel> elaborate(const SettingsList &settings, bool withWarnings) {
    Outcome<ElaboratedModel> text = elaborateModel(request.options, settings, withWarnings);
    if (text.ok() && request.edit)
      request.edit(text->program);
    return text;
  }

  /// Of a batch, or of the text's own (0). The first time samples are counted.
  Outcome<training::StepCost> costOf(int64_t batch) {
    Outcome<ElaboratedModel> text = elaborate(batch ? SettingsList{{"batch", std::to_string(batch)}} : SettingsList(), false);
    if (!text.ok())
      return text.code();
    Outcome<ProgramPointer> program =
        reported(text->compilation->compile(text->program, /*withoutKernels=*/true, request.options.targets, /*withWarnings=*/false));
    if (!program.ok())
      return program.code();
    if (!counted) {
      Outcome<int64_t> there = request.countSamples((*program)->root());
      if (!there.ok())
        return there.code();
      result.there = *there, counted = true;
    }
    engine::Crew crew = request.crew;
    crew.backend = "cpu"; // of another backend no arenas are counted
    return training::StepCost{batch, engine::memoryNeeded((*program)->root(), crew).total(), plannedSeconds((*program)->root())};
  }

  /// Takes as many micro-batches as the data need. A pipeline keeps its number: some schedules require one.
  Outcome<EvaluationProgram> finishPlanned(ElaboratedModel text) {
    const dsl::Plan &plan = text.program.plan;
    int64_t unit = plan.dataParallel * plan.micro, batch = text.program.train.batch;
    result.batch = {batch, training::BatchReason::Plan};
    if (plan.pipeline || result.there == 0 || result.there > batch - unit)
      return finish(std::move(text));
    result.batch.samples = (result.there + unit - 1) / unit * unit;
    return finishWith(result.batch.samples);
  }

  Outcome<EvaluationProgram> finishWith(int64_t batch) {
    Outcome<ElaboratedModel> text = elaborate({{"batch", std::to_string(batch)}}, false);
    return text.ok() ? finish(std::move(*text)) : text.code();
  }

  Outcome<EvaluationProgram> finish(ElaboratedModel text) {
    Outcome<ProgramPointer> program =
        reported(text.compilation->compile(text.program, /*withoutKernels=*/false, request.options.targets, request.withWarnings));
    if (!program.ok())
      return program.code();
    result.program = std::move(*program);
    return std::move(result);
  }

  const EvaluationRequest &request;
  FileClaims &files;
  EvaluationProgram result;
  bool counted = false;
};

} // namespace

Outcome<EvaluationProgram> compileToEvaluate(const EvaluationRequest &request, FileClaims &files) { return Attempts(request, files).run(); }

} // namespace npar::driver
