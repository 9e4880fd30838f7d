// Prepares the ops on rows of experts for rounds, which take their place.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <vector>

namespace npar::place {

/// Groups the ops on the rows of one routing, whose axis is `row`: ops of different groups have no rows in common. In the order of the ops.
std::vector<llvm::SmallVector<mlir::Operation *>> connectedRows(llvm::ArrayRef<mlir::Operation *> ops, mlir::StringAttr row);

/// Finds the op before which rounds of all these ops can be computed, and moves there what they use of others. Fails with a located error
/// if that depends on what the rows become, or if nn.collect is not all that uses the rows.
llvm::FailureOr<mlir::Operation *> prepareRounds(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace npar::place
