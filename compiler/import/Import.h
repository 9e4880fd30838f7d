// Imports the elaborated program as an nn module: @micro with the forward half, variables, and the plan as module attributes.
#pragma once

#include "dsl/Program.h"
#include "engine/program/Enums_generated.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace npar::compiler {

/// Imports mechanically: one op per node, one nn.variable per parameter. Locations are those of the user's text; the context gets the
/// dialects it needs. Only for an evaluation metrics and predictions are imported, which leave results. The ops of the nodes `unrounded`,
/// which ascend, are marked for prepare-precision. Returns null after an error, which goes to the context's diagnostic handlers.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(mlir::MLIRContext &context, const dsl::Program &program, const dsl::Sources &sources,
                                                program::ProgramKind kind = program::ProgramKind::Training,
                                                llvm::ArrayRef<int> unrounded = {});

} // namespace npar::compiler
