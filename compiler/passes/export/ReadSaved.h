// From a module that is scheduled but not cut into fragments to what its backward keeps.
#pragma once

#include "compiler/memory/SavedActivations.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Reads `npar.saved` and `npar.products` (place-account-saved), the parts of ops (schedule-stages) and the orders (schedule-tasks).
compiler::SavedActivations readSaved(mlir::ModuleOp module);

} // namespace npar
