// From a planned program to the rank dialect.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace npar::memory {

/// Appends one rank.program per class to the module. `inputTypes`: the tensor types of data buffers by name.
void writeRank(const program::ProgramT &program, const llvm::StringMap<mlir::Type> &inputTypes, mlir::ModuleOp module);

} // namespace npar::memory
