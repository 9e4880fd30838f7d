// What an evaluation makes of results: the program's table of the module's attributes.
#pragma once

#include "engine/program/Loader.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Fills in measures and predictions, from `npar.measures` and `npar.predictions`; when the program has its results. Fails with an error
/// where one names a result that there is not.
mlir::LogicalResult fillMeasures(mlir::ModuleOp module, program::ProgramT &program);

} // namespace npar
