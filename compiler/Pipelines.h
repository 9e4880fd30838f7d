// The order of the compiler's phases, in one place.
#pragma once

#include "compiler/Compiler.h"
#include "mlir/Pass/PassManager.h"

namespace npar::compiler {

/// The phases up to a stage of `--emit`, as one pass pipeline over the imported module.
/// Each phase ends with a verifying pass, so that what a stage prints is known to be sound.
/// `sources`: what `CompileOptions::placed` points into.
void buildPipeline(mlir::OpPassManager &passes, const dsl::Sources &sources, const CompileOptions &options);

} // namespace npar::compiler
