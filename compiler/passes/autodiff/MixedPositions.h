// Tells which ops make a position of the sequence depend on others: programs that generate compute a few positions at a time.
#pragma once

#include "compiler/dialects/nn/Nn.h"
#include "llvm/ADT/SetVector.h"

namespace npar::compiler {

/// True if a loop of the op over an axis makes entries of its result depend on other entries of the axis.
bool mixes(mlir::Operation *op, mlir::StringAttr axis);

using AxisSet = llvm::SmallSetVector<mlir::StringAttr, 8>;

/// The axes that dispatches without a limit make of the sequence, which `rename` gives another name: that name, positions by choices, rows.
/// Each row is computed from its own position. Empty if anything else reads the other name, so that positions can depend on each other; a
/// limit of rows is such a thing.
AxisSet axesOfDispatch(nn::RenameOp rename);

} // namespace npar::compiler
