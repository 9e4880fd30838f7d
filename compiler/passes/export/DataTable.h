// Copies the sources of the inputs from the module's attribute to the compiled program.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Reads `npar.data`, as import sets it, for the inputs that the program has: a program that only goes forward may have fewer.
mlir::LogicalResult fillData(mlir::ModuleOp module, program::ProgramT &program);

} // namespace npar
