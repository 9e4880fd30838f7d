// Finds the operations that need many instructions per element in a kernel, such as an exponential or a look-up.
#pragma once

#include "mlir/IR/Operation.h"

namespace npar::nn {

/// Number of elements for which the op needs many instructions; 0 for ops that need one or two.
double functionsOf(mlir::Operation *op);

} // namespace npar::nn
