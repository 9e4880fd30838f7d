// What happens to the finished sums of a product on their way into C, while they are in the first-level cache.
#pragma once

#include <cstdint>

namespace npar::engine {

/// What C is stored as: the sums' own type, or rounded to nearest even (NaN stays NaN), which float64 sums never are.
enum class ProductResult { Sums, BF16, F16 };

/// result[i,j] = round(sum[i,j] + bias[j] + residual[i,j] + result[i,j]), each part only where asked for, in this order,
/// every operation in float32 (float64 for F64) and rounded by itself: the same bits as the operations one after the other on a stored
/// float32 product.
struct Epilogue {
  void *result;
  int64_t stride;
  ProductResult resultType = ProductResult::Sums;
  bool accumulate = false;
  /// [n], of the sums' type.
  const void *bias = nullptr;
  /// [m, n], of the sums' type.
  const void *residual = nullptr;
  int64_t residualStride = 0;
  /// Instead of all the above where set: a kernel that the compiler generated for what follows the product. `sums` is [rows, columns]
  /// with `sumStride` elements from row to row, at (row, column) of C; called by several threads for disjoint tiles.
  void (*generated)(const void *context, const void *sums, int64_t sumStride, int64_t row, int64_t column, int64_t rows,
                    int64_t columns) = nullptr;
  const void *context = nullptr;
};

} // namespace npar::engine
