// Attaches the sources of a model's inputs to the module, as an attribute that no pass reads.
#pragma once

#include "dsl/Program.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Sets `npar.data` = {name = "pairs", order = "shuffled", last = "join", groups = [{files = [{path = "a.safetensors", format = "tensors",
/// weight = 0, lengths = ""}], feeds = [{input = "label", tensor = "label", below = 4, axis = "labels", loc = ...}]}], shares = [0.9, 0.1],
/// split_seed = 42, loc = ...}; with `seed` where the block has one of its own.
void setDataBlock(mlir::ModuleOp module, const dsl::Data &data, mlir::Builder &builder,
                  llvm::function_ref<mlir::LocationAttr(const dsl::Location &)> location);

} // namespace npar
