// The operations that choose and weight the rows of experts, which mixed precision leaves in f32.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace npar::compiler {

/// The ops that compute floats for the choice of an `nn.dispatch` or for the weights of its rows, back to the router's product (the last
/// `nn.einsum` on each path), which is one of them. The rows themselves, tensors over the axes of what is dispatched, do not belong to
/// them.
llvm::SmallPtrSet<mlir::Operation *, 32> findRouterOps(mlir::func::FuncOp function);

} // namespace npar::compiler
