// Estimates the cost of an op of a placed program with the cost model, for balancing stages.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/dist/Dist.h"

namespace npar::compiler {

/// Seconds on one rank: products and attention by their operations, other ops by operations and the bytes of their results (they are fused,
/// so operands come from registers), collectives by their messages. Variables, inputs and constants cost nothing. `filled`: the part of
/// routed rows that exist if the load of experts is balanced.
double opSeconds(mlir::Operation *op, const cost::Machine &machine, dist::MeshAttr mesh, double filled);

/// Bytes of a tensor on one rank; 0 for other types.
double tensorBytes(mlir::Type type);

} // namespace npar::compiler
