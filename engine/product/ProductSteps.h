// Blocks, strips and passes: the structures that the loops of a product pass on. Only this folder includes them.
#pragma once

#include "engine/product/Product.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace npar::engine {

inline int64_t ceilDivide(int64_t value, int64_t by) { return (value + by - 1) / by; }
inline int64_t roundUp(int64_t value, int64_t multiple) { return ceilDivide(value, multiple) * multiple; }

/// Scratch memory is aligned to this many bytes.
constexpr int64_t alignment = 64;

/// Blocks of at most `most`, multiples of `unit`, as equal as they get.
inline int64_t evenBlock(int64_t extent, int64_t most, int64_t unit) {
  int64_t blocks = ceilDivide(extent, std::max(most / unit * unit, unit));
  return roundUp(ceilDivide(extent, blocks), unit);
}

/// The range of `count` tiles that part `part` of `parts` gets.
inline std::pair<int64_t, int64_t> share(int64_t count, int64_t part, int64_t parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

/// Size in bytes; 32 KiB if the system does not report it.
inline int64_t firstLevelCache() {
  static const int64_t bytes = std::max<int64_t>(::sysconf(_SC_LEVEL1_DCACHE_SIZE), 32 << 10);
  return bytes;
}

/// Bytes of a sum, which are those of an element that is read in place, too.
inline int64_t sumBytes(ProductType type) { return type == ProductType::F64 ? 8 : 4; }

/// Rows, columns and k of one block.
struct Product::Step {
  Range rows, columns, k;
  bool first, last;
};

/// Packed panels of A and B, or an operand that is read in place; and where the sums are.
struct Product::Strip {
  int64_t row, rows, column, columns, k, depth, paddedDepth;
  const char *a, *b;
  /// Memory for the places of an operand that is read in place.
  char *places;
  ProductTarget target;
  char *sums;
  /// Bytes from the sums of a panel of A to those of the next: 0 if they are not carried.
  int64_t sumsDown;
  bool first, last;
};

/// Places of a tile's rows in C, in elements. If they are `isEven`, only the first place is set, and the others follow `stride` apart.
struct Product::TileRows {
  bool isEven;
  int64_t stride, places[mostTileRows];
};

/// A panel of A over some k of the block.
struct Product::Pass {
  const TileRows *rows;
  int usedRows;
  int64_t depth;
  bool first, last;
  const char *a, *b;
  /// Bytes from one panel of B to the next.
  int64_t panelBytesB;
  /// Not null: rows of A in place.
  const RunsOfRows *runs = nullptr;
  /// Not null: B in place, with `stepsAcross` places from one panel to the next.
  const void *const *steps = nullptr;
  int64_t stepsAcross = 0;
};

} // namespace npar::engine
