// Matrix products in the order of engine/product as PTX: the bits of the processor, whatever the size of a tile.
#pragma once

#include "engine/program/Program_generated.h"

#include <array>
#include <string>

namespace npar::engine::cuda {

/// The types of A and B and of C, whether the product is added to C, whether float32 operands are rounded to TF32, and what the groups of
/// rows are (program::Matmul).
struct ProductKind {
  program::ElementType type, result;
  bool accumulate, tf32 = false;
  program::Grouping grouping = program::Grouping::None;

  /// "product_bf16_f32_add"; of TF32 "product_tf32_f32_add"; with groups "product_f32_f32_by_rows".
  std::string name() const;
};

/// A block has `threads` threads and computes `tile` rows by `tile` columns of C; blocks of a launch: columns, rows, the batch. With groups
/// the third direction has samples (of rows) or groups (of depth).
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
constexpr int productParameterCount = sizeof(ProductParameters) / 8;

/// The kernel of a kind.
std::string productText(const ProductKind &kind);

} // namespace npar::engine::cuda
