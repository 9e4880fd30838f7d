// Products of which one operand is read where it is: packing it would take as long as a sixth of the product if only 128 columns, or rows,
// meet each of its elements.
#include "engine/product/ProductSteps.h"

#include <algorithm>

namespace npar::engine {

namespace {

/// Limits on the columns of C for which A is read in place: with more, packing costs little, and makes a panel contiguous. The larger one
/// is for at least `leastDepth` k: shorter calls take longer with an address for each row.
constexpr int64_t mostColumns = 128, mostColumnsOfDeep = 256, leastDepth = 256;

/// Limit on the rows of C for which B is read in place.
constexpr int64_t mostRows = 512;

/// Limit on the bytes from one k of B to the next: lines that are far apart take one page each. Windows read each line several times.
constexpr int64_t mostStepBytes = 512, mostStepBytesOfWindows = 1024;

/// Shorter runs of k take longer than packing.
constexpr int64_t leastRun = 3;

constexpr int64_t lineBytes = 64, wayBytes = 4096;

} // namespace

Product::InPlace Product::chooseInPlace() const {
  if (!kernels.multiplyPlacedA)
    return InPlace::Neither;
  const int64_t bytes = sumBytes(shape.type), run = shape.aWalk ? shape.aWalk->runLength() : shape.k;
  const bool placesA =
      shape.n <= (shape.k < leastDepth ? mostColumns : mostColumnsOfDeep) && !shape.aTransposed && run >= leastRun && !rowsCollide();
  if (placesA && shape.n <= shape.m)
    return InPlace::A;
  const int64_t across = shape.bWalk ? shape.bWalk->segmentLength() : shape.n,
                down = shape.bWalk ? shape.bWalk->outerStride() : shape.bStride;
  const bool placesB = shape.m <= mostRows && !shape.bTransposed && !shape.sharesB && !shape.continues && across % kernels.columns == 0 &&
                       down * bytes <= (shape.bWalk ? mostStepBytesOfWindows : mostStepBytes);
  return placesB ? InPlace::B : placesA ? InPlace::A : InPlace::Neither;
}

/// True if the rows of a tile are so far apart that their lines evict each other from the first-level cache.
bool Product::rowsCollide() const {
  const int64_t bytes = sumBytes(shape.type), stride = (shape.aWalk ? shape.aWalk->outerStride() : shape.aStride) * bytes;
  const int64_t run = std::min(shape.aWalk ? shape.aWalk->runLength() : shape.k, blockK) * bytes;
  if (stride <= run)
    return false;
  int taken[wayBytes / lineBytes] = {}, most = 0;
  for (int64_t row = 0; row < kernels.rows; ++row)
    for (int64_t line = row * stride / lineBytes; line <= (row * stride + run - 1) / lineBytes; ++line)
      most = std::max(most, ++taken[line % (wayBytes / lineBytes)]);
  // The lines of other runs are assumed to fall into the same places; B passes through one way, and sums through another.
  const int64_t runs = ceilDivide(blockK * bytes, run);
  return most * runs > firstLevelCache() / wayBytes - 2;
}

/// The most runs of a block: it may begin and end inside one.
int64_t Product::runsOfBlock() const { return shape.aWalk ? blockK / shape.aWalk->runLength() + 2 : 1; }

/// Of A: depths and places of runs, and copies of rows that are partly outside. Of B: places for each panel of a strip.
uint64_t Product::placesBytes() const {
  if (inPlace == InPlace::B)
    return stripColumns / kernels.columns * (blockK + stepsAhead) * static_cast<int64_t>(sizeof(void *));
  const int64_t places = runsOfBlock() * (kernels.rows + 1) * static_cast<int64_t>(sizeof(void *));
  return places + (shape.aWalk ? kernels.rows * blockK * sumBytes(shape.type) : 0);
}

RunsOfRows Product::placeRows(const Strip &strip, int64_t row, int usedRows) const {
  const int64_t runs = runsOfBlock();
  auto **places = reinterpret_cast<const void **>(strip.places);
  auto *depths = reinterpret_cast<int64_t *>(places + runs * kernels.rows);
  const int64_t ahead = kernels.rows * (shape.aWalk ? shape.aWalk->outerStride() : shape.aStride);
  if (shape.aWalk) {
    int64_t count = shape.aWalk->placeRuns(strip.a, row, usedRows, kernels.rows, strip.k, strip.depth,
                                           {depths, places, reinterpret_cast<char *>(depths + runs)});
    return {count, depths, places, ahead};
  }
  *depths = strip.depth;
  for (int64_t r = 0; r < kernels.rows; ++r)
    places[r] = strip.a + ((row + (r < usedRows ? r : 0)) * shape.aStride + strip.k) * sumBytes(shape.type);
  return {1, depths, places, ahead};
}

void Product::placeSteps(const Strip &strip, const void **steps) const {
  const int64_t across = strip.depth + stepsAhead;
  if (shape.bWalk)
    shape.bWalk->placeSteps(strip.b, strip.column, strip.columns, kernels.columns, strip.k, strip.depth, across, steps);
  for (int64_t j = 0; j < strip.columns; j += kernels.columns, steps += across) {
    for (int64_t i = 0; i < strip.depth && !shape.bWalk; ++i)
      steps[i] = strip.b + ((strip.k + i) * shape.bStride + strip.column + j) * sumBytes(shape.type);
    std::fill_n(steps + strip.depth, stepsAhead, steps[strip.depth - 1]);
  }
}

} // namespace npar::engine
