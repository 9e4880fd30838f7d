// Attaches the sources of a model's inputs to the module, as an attribute that no pass reads.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Sets `npar.data` (attributes::DataBlockEntry).
void setDataBlock(mlir::ModuleOp module, const dsl::Data &data, llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar
