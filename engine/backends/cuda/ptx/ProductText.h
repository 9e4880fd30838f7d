// Matrix products in the order of engine/product as PTX: the bits of the processor, whatever the size of a tile.
#pragma once

#include "engine/backends/cuda/ptx/PlaceText.h"
#include "engine/program/Program_generated.h"

#include <array>
#include <string>

namespace npar::engine::cuda {

/// Counts the positions of a walked product's rows, columns and k, and the windows of its operands. Without rows a product is not walked.
struct WalkKind {
  int m = 0, n = 0, k = 0, a = 0, b = 0;
};

/// The types of A and B and of C, whether the product is added to C, whether float32 operands are rounded to TF32, what the groups of
/// rows are (program::Matmul), and how windows walk its operands.
struct ProductKind {
  program::ElementType type, result;
  bool accumulate, tf32 = false;
  program::Grouping grouping = program::Grouping::None;
  WalkKind walk = {};

  bool isWalked() const { return walk.m > 0; }
  /// "product_bf16_f32_add"; of TF32 "product_tf32_f32_add"; with groups "product_f32_f32_by_rows"; walked "product_f32_f32_walk_31320".
  std::string name() const;
};

/// A block has `threads` threads and computes `tile` rows by `tile` columns of C; blocks of a launch: columns, rows, the batch. With groups
/// the third direction has samples (of rows) or groups (of depth). Walked products have many rows: theirs are the first direction.
constexpr int productTile = 64, productThreads = 256, productLoops = 3;

/// The parameters of a kernel, in this order. The batch has three loops, the first one innermost; sizes and strides in elements. With
/// groups the first one has the groups and the second one the samples.
struct ProductParameters {
  uint64_t a, b, c, first, last; ///< ranges of rows: only with groups
  int64_t m, n, k, aRow, aColumn, bRow, bColumn, cRow;
  struct Loop {
    int64_t size = 1, a = 0, b = 0, c = 0;
  };
  std::array<Loop, productLoops> loops;
};

/// The parameters of a walked product's kernel. Of those above, `aColumn` and `bRow` are 1 where the operand is contiguous along k, and the
/// other strides of A, B and C are not used.
struct WalkedProductParameters {
  ProductParameters product;
  PlaceParameters aRows, aDepth, bDepth, bColumns, cRows;
  std::array<WindowParameters, mostWindows> aWindows, bWindows;
};

/// The kernel of a kind.
std::string productText(const ProductKind &kind);

} // namespace npar::engine::cuda
