// Attaches a model's rules for weight files to the module, as an attribute that no pass reads.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Sets `npar.checkpoint` = [{kind = "rename", file = "transformer.*", model = "*"}] where the model says something; `kind` is rename,
/// ignore, same or fresh.
void setCheckpointRules(mlir::ModuleOp module, const dsl::Model &model);

} // namespace npar
