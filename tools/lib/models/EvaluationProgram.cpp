// Elaborates and compiles the text for each candidate batch.
#include "tools/lib/models/EvaluationProgram.h"

#include "engine/runtime/MachineMemory.h"

#include <algorithm>

namespace npar::models {

using engine::Result;

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
  Attempts(const EvaluationRequest &request, FileClaims &files, engine::Observer &observer)
      : request(request), files(files), observer(observer) {}

  Result<EvaluationProgram> run() {
    TRY(ElaboratedModel first, elaborate({}, request.withWarnings));
    files.read(first.compilation->texts(), first.program.data);
    TRY_STATUS(files.check());
    const dsl::Plan plan = first.program.plan;
    if (!request.ofTraining && isSet(request.options.settings, "batch")) {
      result.batch = {first.program.train.batch, training::BatchReason::Given};
      return finish(std::move(first));
    }
    bool planned = !plan.mesh.empty() || isSet(request.options.settings, "micro");
    TRY(training::StepCost one, costOf(planned ? 0 : 1));
    uint64_t free = engine::machineMemory().bytes;
    result.room = (free - std::min(free, request.taken)) / 4;
    if (planned)
      return finishPlanned(std::move(first));
    constexpr int64_t several = 4;
    result.batch = {1, training::BatchReason::Data};
    if (result.there != 1) {
      TRY(training::StepCost more, costOf(several));
      result.batch = training::chooseBatch(one, more, result.there, result.room);
    }
    return finishWith(result.batch.samples);
  }

private:
  Result<ElaboratedModel> elaborate(const SettingsList &settings, bool withWarnings) {
    Result<ElaboratedModel> text = elaborateModel(request.options, observer, settings, withWarnings);
    if (text.ok() && request.edit)
      request.edit(text->program);
    return text;
  }

  /// Of a batch, or of the text's own (0). The first time samples are counted.
  Result<training::StepCost> costOf(int64_t batch) {
    TRY(ElaboratedModel text, elaborate(batch ? SettingsList{{"batch", std::to_string(batch)}} : SettingsList(), false));
    TRY(ProgramPointer program,
        text.compilation->compile(text.program, /*withoutKernels=*/true, request.options.targets, /*withWarnings=*/false));
    if (!counted) {
      TRY(result.there, request.countSamples(program->root()));
      counted = true;
    }
    engine::Crew crew = request.crew;
    crew.backend = "cpu"; // of another backend no arenas are counted
    return training::StepCost{batch, engine::memoryNeeded(program->root(), crew).total(), plannedSeconds(program->root())};
  }

  /// Takes as many micro-batches as the data need. A pipeline keeps its number: some schedules require one.
  Result<EvaluationProgram> finishPlanned(ElaboratedModel text) {
    const dsl::Plan &plan = text.program.plan;
    int64_t unit = plan.dataParallel * plan.micro, batch = text.program.train.batch;
    result.batch = {batch, training::BatchReason::Plan};
    if (plan.pipeline || result.there == 0 || result.there > batch - unit)
      return finish(std::move(text));
    result.batch.samples = (result.there + unit - 1) / unit * unit;
    return finishWith(result.batch.samples);
  }

  Result<EvaluationProgram> finishWith(int64_t batch) {
    TRY(ElaboratedModel text, elaborate({{"batch", std::to_string(batch)}}, false));
    return finish(std::move(text));
  }

  Result<EvaluationProgram> finish(ElaboratedModel text) {
    TRY(result.program, text.compilation->compile(text.program, /*withoutKernels=*/false, request.options.targets, request.withWarnings));
    return std::move(result);
  }

  const EvaluationRequest &request;
  FileClaims &files;
  engine::Observer &observer;
  EvaluationProgram result;
  bool counted = false;
};

} // namespace

Result<EvaluationProgram> compileToEvaluate(const EvaluationRequest &request, FileClaims &files, engine::Observer &observer) {
  return Attempts(request, files, observer).run();
}

} // namespace npar::models
