// Where finished sums of a product go, and as what.
#pragma once

#include <cstdint>

namespace npar::engine {

/// What C is stored as: the sums' own type, or rounded to nearest even (NaN stays NaN), which float64 sums never are.
enum class ProductResult { Sums, BF16, F16 };

/// C[i,j] = round(sum[i,j] + C[i,j]), the latter where `accumulate`; in float32 (float64 for F64): the same bits as a stored product and an
/// addition after it.
struct ProductTarget {
  void *data;
  int64_t stride;
  ProductResult type = ProductResult::Sums;
  bool accumulate = false;
};

} // namespace npar::engine
