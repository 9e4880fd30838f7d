// Attaches the clauses of a plan other than mesh, rules and pipeline to the module as attributes.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Sets the attributes of the clauses that the plan has:
/// `dist.stores` = [{what = "gradients", mesh = ["dp"], per_step, loc}], `dist.bucket` in bytes, `dist.hierarchical`,
/// `dist.library`;
/// `npar.recompute` = {kind = "attention" | "block" | "every" | "layers", k, layers, loc};
/// `nn.precision` = {compute = bf16, gradients = f32, reduce = f32, keep = [{what, layer, type, loc}]};
/// with `compute tf32` it is {compute = tf32, keep};
/// `npar.require` = {memory in bytes, memory_loc, bubble as a share, bubble_loc};
/// `npar.place` = {order = ["pp", "dp"], inside = ["tp"], loc}.
void setPlanClauses(mlir::ModuleOp module, const dsl::Plan &plan, mlir::Builder &builder,
                    llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar
