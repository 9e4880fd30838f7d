// Attaches the clauses of a plan other than mesh, rules and pipeline to the module as attributes.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Sets the attributes of the clauses that the plan has (compiler/attributes/ClauseAttributes.h), and the marks and numbers of clauses
/// without fields: `dist.bucket`, `dist.hierarchical`, `dist.library`, `npar.product_order`.
void setPlanClauses(mlir::ModuleOp module, const dsl::Plan &plan, llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar::compiler
