// nn.scatter_add has a nest of its own: rows of a table, in chunks of columns, tokens in ascending order. A following nn.add of an
// operand (a gradient accumulator) touches only the rows that tokens name, where it works in place.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/rank/Rank.h"

namespace npar::codegen {

/// The operands and sizes of a kernel that adds rows to the rows of a table (nn.scatter_add).
struct ScatterTable {
  /// `lanes` 0 selects the width of the processor's vectors.
  explicit ScatterTable(rank::KernelOp kernel, int64_t lanes = 0);
  /// Reports a kernel whose form these loops do not support.
  mlir::LogicalResult check(rank::KernelOp kernel);
  int64_t width() const { return lanes * parts; }

  nn::ScatterAddOp op;
  mlir::Value accumulator;   ///< the initial value of the sum; null: zeros
  mlir::Type element, added; ///< the table's type, and that of the added rows, which may be 16 bits wide
  int64_t rows, columns, tokens, lanes, parts;
};

bool isScatterAdd(rank::KernelOp kernel);
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitScatterAdd(rank::KernelOp kernel, dist::MeshAttr mesh);
int64_t scatterAddExtent(rank::KernelOp kernel);

} // namespace npar::codegen
