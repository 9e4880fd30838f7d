// Checks that the planned program keeps the limits of the plan's `require`.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar::compiler {

/// Module attribute `npar.require = {memory = bytes, bubble = share, memory_loc, bubble_loc}`. `memory` bounds the arena of every class of
/// ranks. `bubble` bounds the share of waiting in the time from the first to the last planned task that runs per micro-batch, over all
/// stages together.
mlir::LogicalResult checkLimits(mlir::ModuleOp module, const program::ProgramT &program);

} // namespace npar::compiler
