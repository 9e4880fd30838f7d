// The rules of the names in files with weights, from the module's attribute to the compiled program.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Reads `npar.checkpoint`, as import sets it.
mlir::LogicalResult fillCheckpointRules(mlir::ModuleOp module, program::ProgramT &program);

} // namespace npar
