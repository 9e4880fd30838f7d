// The layout of a collective's operand or result in words, for `npar inspect why` and pages.
#pragma once

#include "mlir/IR/Types.h"

#include <string>

namespace npar::compiler {

/// "batch : 3 {ep}, seq : 16": each axis with its local size, then the mesh axes that split it; empty for a scalar. Axes of rows, which
/// npar names, are called "rows of seq*slot", and "rows of expert" where ranks that share experts have pieces of them.
std::string layoutText(mlir::Type type);

} // namespace npar::compiler
