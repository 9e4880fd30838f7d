// The rows that a rank reserves for experts, read from the placed program.
#pragma once

#include "compiler/attributes/TableAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace npar::place {

/// The routings of the forward whose rows meet experts, in its order. A value counts as kept if the backward uses it as it is: composite
/// ops are not expanded yet.
std::vector<attributes::RoutingEntry> routedRows(mlir::func::FuncOp micro);

} // namespace npar::place
