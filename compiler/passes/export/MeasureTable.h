// Copies the measures of an evaluation from the module's attributes to the compiled program.
#pragma once

#include "engine/program/Loader.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Fills in measures and predictions from `npar.measures` and `npar.predictions`; the program must already have its results. Fails with an
/// error if a measure names a result that does not exist.
mlir::LogicalResult fillMeasures(mlir::ModuleOp module, program::ProgramT &program);

} // namespace npar
