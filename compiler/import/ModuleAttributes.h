// Attaches the parts of a program that concern the model as a whole to the module: training, plan, data and names in files.
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
