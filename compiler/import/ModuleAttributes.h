// What a program says of the model as a whole, its training, plan, data and names in files, as attributes of the module.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Sets `npar.*` (names, batch, seed, groups), `nn.*` (optimizer, rate, clip, losses, lines of axes), `dist.*` (mesh, rules, machine),
/// `pipe.*`, and what PlanClauses.h, CheckpointRules.h and DataBlock.h tell.
void setModuleAttributes(mlir::ModuleOp module, const dsl::Program &program, mlir::Builder &builder,
                         llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar
