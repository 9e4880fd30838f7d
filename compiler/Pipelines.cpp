// The order of the compiler's phases, readable top to bottom.
#include "compiler/Pipelines.h"

#include "compiler/codegen/Codegen.h"
#include "compiler/passes/autodiff/Autodiff.h"
#include "compiler/passes/place/Place.h"
#include "compiler/passes/prepare/Prepare.h"
#include "compiler/passes/schedule/Schedule.h"

namespace npar::compiler {

void buildPipeline(mlir::OpPassManager &passes, const dsl::Sources &sources, const CompileOptions &options) {
  buildPreparePipeline(passes);
  if (options.stopAfter == "nn")
    return;
  passes.addPass(place::createPlaceMarkAttentionPass());
  passes.addPass(place::createPlaceSpreadRowsPass());
  buildAutodiffPipeline(passes, options.kind, options.positions);
  if (options.stopAfter == "grad")
    return;
  place::buildPlacePipeline(passes, /*accountSaved=*/options.stopAfter == "saved", /*verified=*/!options.asDraft);
  if (options.placed)
    passes.addPass(createListPlacedValues(sources, *options.placed));
  if (options.stopAfter == "dist")
    return;
  if (options.stopAfter == "saved")
    return buildTaskPipeline(passes);
  buildSchedulePipeline(passes, /*verified=*/!options.asDraft);
  if (options.stopAfter == "pipe")
    return;
  passes.addPass(codegen::createExportOutlineKernels());
}

} // namespace npar::compiler
