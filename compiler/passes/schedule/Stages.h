// What the passes of this phase share: the module's pipeline, and the stage of an op.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/pipe/Pipe.h"

namespace npar {

/// The pipeline that the plan asks for: module attributes `pipe.axis`, `pipe.schedule`, `npar.micro_count`.
struct Pipeline {
  std::string schedule;
  mlir::StringAttr axis; ///< null without a pipeline
  int64_t stages = 1;
  int64_t micros = 1;
};

/// Fails with an error at the module when the attributes make no sense.
mlir::FailureOr<Pipeline> pipelineOf(mlir::ModuleOp module);

/// Attribute of an op between schedule-stages and schedule-fragments.
constexpr llvm::StringLiteral stageAttribute = "pipe.stage";

/// Attribute of an nn.variable: the stages where it is stored, ascending.
constexpr llvm::StringLiteral stagesAttribute = "stages";

} // namespace npar
