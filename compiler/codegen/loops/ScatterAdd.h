// nn.scatter_add has a nest of its own: rows of a table, in chunks of columns, tokens in ascending order. A following nn.add of an
// operand (a gradient accumulator) touches only the rows that tokens name, where it works in place.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// What such a kernel adds to what.
struct ScatterTable {
  /// `lanes` 0: those of the processor's vectors.
  explicit ScatterTable(rank::KernelOp kernel, int64_t lanes = 0);
  /// Reports a kernel that has another form than these loops can walk.
  mlir::LogicalResult check(rank::KernelOp kernel);
  int64_t width() const { return lanes * parts; }

  nn::ScatterAddOp op;
  mlir::Value accumulator;   ///< what the sum starts with; null: zeros
  mlir::Type element, added; ///< of the table and of what is added to it, which may be of 16 bits
  int64_t rows, columns, tokens, lanes, parts;
};

bool isScatterAdd(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitScatterAdd(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t scatterAddExtent(rank::KernelOp kernel);

} // namespace npar::codegen
