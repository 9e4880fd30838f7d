// Attaches the parts of a program that concern the model as a whole to the module: training, plan, data and names in files.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Sets all attributes of compiler/attributes/ModuleAttributes.h that the program determines: names, batch, seed, optimizers, losses, mesh,
/// rules, pipeline, and those of PlanClauses.h, CheckpointRules.h and DataBlock.h.
void setModuleAttributes(mlir::ModuleOp module, const dsl::Program &program, mlir::Builder &builder,
                         llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar::compiler
