// Tables of the compiled program that the module has as attributes, entry by entry: rules of checkpoints, the data block, measures.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Fills in the rules of the names in files with weights from `npar.checkpoint`, as import sets it.
mlir::LogicalResult fillCheckpointRules(mlir::ModuleOp module, program::ProgramT &program);

/// Fills in the sources of the inputs from `npar.data`, as import sets it, for the inputs that the program has: one that only goes forward
/// may have fewer.
mlir::LogicalResult fillData(mlir::ModuleOp module, program::ProgramT &program);

/// Fills in measures and predictions from `npar.measures` and `npar.predictions`; the program must already have its results. Fails with an
/// error if a measure names a result that does not exist.
mlir::LogicalResult fillMeasures(mlir::ModuleOp module, program::ProgramT &program);

} // namespace npar::compiler
