// Finds out what the backward of a scheduled module keeps, before the module is cut into fragments.
#pragma once

#include "compiler/memory/SavedActivations.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Reads `npar.saved` and `npar.products` (place-account-saved), the parts of ops (schedule-stages) and the orders (schedule-tasks).
memory::SavedActivations readSaved(mlir::ModuleOp module);

} // namespace npar::compiler
