// Products of so few rows that packing B would take longer than multiplying: a single phase reads B where it is.
#include "engine/product/FloatControl.h"
#include "engine/product/ProductSteps.h"

#include <algorithm>

namespace npar::engine {

/// Limit on the sums of a strip of few rows.
static constexpr int64_t mostThinBytes = 32 << 10;

// Measured (NOTES.md); bf16 is compared with tiles.
int64_t mostThinRows(const ProductShape &shape, InstructionSet set) {
  if (hasPairs(shape.type) && shape.bTransposed)
    return 8;
  if (!hasTiles(shape.type))
    return 16;
  return !shape.bTransposed ? 4 : set == InstructionSet::Tiles ? 16 : 8;
}

/// A strip's sums stay in the first-level cache while B passes by. Two parts for each worker, because workers are not equally fast; but one
/// if the parts cut the rows of B, because memory is read faster in long pieces.
void Product::cutThin(int workers) {
  int64_t bytes = shape.m * sumBytes(shape.type) * (hasTiles(shape.type) ? 3 : 1);
  int64_t tilesAcross = ceilDivide(shape.n, kernels.columns);
  partColumns = std::min<int64_t>(workers > 1 && shape.bTransposed ? 2 * workers : workers, tilesAcross);
  stripColumns = evenBlock(ceilDivide(tilesAcross, partColumns) * kernels.columns, mostThinBytes / bytes, kernels.columns);
}

int64_t Product::thinDepth() const { return roundUp(shape.k, kernels.group); }

/// A's rows; sums, and as much again for each of the two chains of bf16; a row of B.
uint64_t Product::thinBytes() const {
  return roundUp(shape.m * (thinDepth() + 3 * stripColumns) * sumBytes(shape.type) + stripColumns * sumBytes(shape.type), alignment);
}

void Product::runThin(int64_t part, const ProductOperands &operands, char *own) const {
  ProductTarget target{operands.c, shape.cStride, shape.result, shape.accumulate};
  auto [left, right] = share(ceilDivide(shape.n, kernels.columns), part, partColumns);
  int64_t padded = thinDepth(), bytes = sumBytes(shape.type), end = std::min(right * kernels.columns, shape.n);
  char *tiles = own + shape.m * padded * bytes;
  kernels.widenThin({operands.a, shape.aStride, shape.aTransposed}, shape.m, shape.k, padded, own);
  for (int64_t column = left * kernels.columns; column < end; column += stripColumns) {
    int64_t columns = std::min(stripColumns, end - column);
    {
      FloatControl control(kernels.flushes ? FloatControl::Flushing : FloatControl::Precise);
      kernels.multiplyThin(shape.m, shape.k, own, padded, {operands.b, shape.bStride, shape.bTransposed}, column, columns, tiles);
    }
    FloatControl control(FloatControl::Precise);
    for (int64_t j = 0; j < columns; j += kernels.columns)
      kernels.finish(target, tiles + j * shape.m * bytes, 0, column + j, int(shape.m),
                     int(std::min<int64_t>(kernels.columns, columns - j)));
  }
}

} // namespace npar::engine
