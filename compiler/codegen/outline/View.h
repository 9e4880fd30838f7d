// Tensors as library products and attention see them: a place and strides in what is stored.
#pragma once

#include "compiler/dialects/dist/Dist.h"
#include "compiler/dialects/nn/Nn.h"
#include "compiler/dialects/nn/ops/Windows.h"

#include "llvm/ADT/MapVector.h"

namespace npar::codegen {

/// Returns whether each window is one entry, and each entry a window: x under other names, as in a convolution of 1 x 1.
bool isRenaming(nn::WindowsOp windows);

/// A tensor as strides by axis name into a stored tensor: looks through nn.select, nn.rename and nn.windows that rename.
struct View {
  mlir::Value base;
  int64_t offset = 0;
  llvm::MapVector<mlir::StringAttr, int64_t> strides;

  explicit View(mlir::Value value);
  /// 0 where the tensor lacks the axis.
  int64_t stride(mlir::StringAttr axis) const;
};

/// The tensor with its axes in another order.
mlir::RankedTensorType inOrder(mlir::RankedTensorType type, llvm::ArrayRef<mlir::StringAttr> order);
/// The operand with its axes in the given order, copied before `op` when it has another.
mlir::Value inOrder(mlir::Operation *op, mlir::Value operand, llvm::ArrayRef<mlir::StringAttr> order);

/// Erases views that nothing uses any more.
void dropUnusedViews(mlir::Block &block);

} // namespace npar::codegen
