// What an op of a placed program costs, by the cost model: for the balance of stages.
#pragma once

#include "compiler/cost/CostModel.h"
#include "compiler/dialects/dist/Dist.h"

namespace npar {

/// Seconds on one rank: products by their flops, other ops by the bytes of their results (they are fused, so operands come from cache),
/// collectives by their messages. Variables, inputs and constants cost nothing.
double opSeconds(mlir::Operation *op, const cost::Machine &machine, dist::MeshAttr mesh);

/// Bytes of a tensor on one rank; 0 for other types.
double tensorBytes(mlir::Type type);

} // namespace npar
