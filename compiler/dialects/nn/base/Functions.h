// Which operations take a kernel many instructions for each element, an exponential or a look-up say.
#pragma once

#include "mlir/IR/Operation.h"

namespace npar::nn {

/// The elements for which the op does so; 0 for all other ops, which take an instruction or two.
double functionsOf(mlir::Operation *op);

} // namespace npar::nn
