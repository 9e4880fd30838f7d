// Outlines @update into one update fragment per stage.
#pragma once

#include "compiler/passes/schedule/Fragments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace npar::compiler {

using Stages = llvm::SmallVector<int64_t>; ///< ascending

/// The axis along which each rank is a stage of its own; null without it.
struct StageAxes {
  mlir::StringAttr pipeline; ///< stages have different blocks; a collective over it has all of them as members
  mlir::StringAttr servers;  ///< stages have different samples; a sum over it is added up on the first stage
};

/// `stored`: the stages of every parameter, state and accumulator by name; outputs are added to it.
void outlineUpdate(mlir::func::FuncOp update, Fragments &fragments, llvm::StringMap<Stages> &stored, StageAxes axes);

} // namespace npar::compiler
