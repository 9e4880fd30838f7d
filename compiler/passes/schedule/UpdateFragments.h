// Outlines @update into one update fragment per stage.
#pragma once

#include "compiler/passes/schedule/Fragments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace npar::compiler {

using Stages = llvm::SmallVector<int64_t>; ///< ascending

/// `stored`: the stages of every parameter, state and accumulator by name; outputs are added to it. `pipelineAxis` may be null.
void outlineUpdate(mlir::func::FuncOp update, Fragments &fragments, llvm::StringMap<Stages> &stored, mlir::StringAttr pipelineAxis);

} // namespace npar::compiler
