// The destination of finished sums of a product, and the type in which they are stored.
#pragma once

#include <cstdint>

namespace npar::engine {

/// Storage type of C: the sums' own type, or rounded to nearest even (NaN stays NaN). Float64 sums are never rounded.
enum class ProductResult { Sums, BF16, F16 };

/// C[i,j] = round(sum[i,j] + C[i,j]), the latter only with `accumulate`; in float32 (float64 for F64). The bits are those of a stored
/// product followed by an addition.
struct ProductTarget {
  void *data;
  int64_t stride;
  ProductResult type = ProductResult::Sums;
  bool accumulate = false;
};

} // namespace npar::engine
