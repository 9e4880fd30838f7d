// What the plan promises by `require`, asked of what was planned.
#pragma once

#include "engine/program/Program_generated.h"
#include "mlir/IR/BuiltinOps.h"

namespace npar {

/// Module attribute `npar.require = {memory = bytes, bubble = share, memory_loc, bubble_loc}`: no class of ranks has a larger arena; of the
/// time from the first to the last planned task that runs per micro-batch, over all stages together, no larger share is waiting.
mlir::LogicalResult checkLimits(mlir::ModuleOp module, const program::ProgramT &program);

} // namespace npar
