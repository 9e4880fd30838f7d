// Finds which rows exist in the tensors of routed rows: those that the ranges of a grouped product cover.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

namespace npar::nn {

/// The rows of an op that belong to an entry: as many as the grouped product has that these rows meet.
struct ExistingRows {
  mlir::StringAttr row; ///< the axis of rows in the op
  double filled = 1;    ///< the part of the rows that exists if the load is balanced
};

/// Returns whether an axis is one of spread rows (place-spread-rows), under the name that no rule splits too.
bool isOfSpreadRows(mlir::StringAttr axis);

/// The ops of a block on floats with an axis of rows, except grouped products themselves. Rows that meet no grouped product in the block
/// are not listed.
llvm::DenseMap<mlir::Operation *, ExistingRows> existingRows(mlir::Block &block);

} // namespace npar::nn
