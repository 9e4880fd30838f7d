// The loops around register tiles: blocks of rows, of columns and of k, strips of columns, then panels (after Goto, van de Geijn: Anatomy
// of high-performance matrix multiplication, 2008, with A and B changed over), with sums carried from one block of k to the next.
#include "engine/product/Product.h"

#include "engine/product/FloatControl.h"
#include "engine/product/ProductSteps.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace npar::engine {

namespace {

/// Limits that keep data in the third-level cache: packed panels of B, and sums that are carried over blocks of k.
constexpr int64_t mostPanelBytes = 12 << 20, mostCarriedRows = 2048, mostCarriedColumns = 1024;

/// Limit on the packed rows of A that a single strip of B's panels meets: they stay in the second-level cache.
constexpr int64_t mostLoneBytes = 128 << 10;

/// If B is read in place, blocks of more k have fewer barriers; A's panels then still stay in the second-level cache.
constexpr int64_t mostFlatRows = 128;

/// Lines of C that the next tile reads, while the one before is multiplied.
void prefetchTile(const char *line, int64_t stride, int rows, int64_t bytes) {
  for (int r = 0; r < rows; ++r, line += stride)
    for (int64_t at = 0; at < bytes; at += 64)
      __builtin_prefetch(line + at, 1);
}

int64_t resultBytes(const ProductShape &shape) { return shape.result == ProductResult::Sums ? sumBytes(shape.type) : 2; }

} // namespace

void ProductShape::walk(const WindowedPart &part, int64_t elementBytes) {
  auto count = [](const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  };
  m = count(part.shape.m), n = count(part.shape.n), k = count(part.shape.k);
  WalkedOperand left = WalkedOperand::ofA(part.shape, elementBytes), right = WalkedOperand::ofB(part.shape, elementBytes);
  aTransposed = left.runsAcross(), bTransposed = !right.runsAcross();
  if (std::optional<int64_t> stride = left.plainStride())
    aStride = *stride;
  else
    aWalk = std::make_shared<WalkedOperand>(std::move(left));
  if (std::optional<int64_t> stride = right.plainStride())
    bStride = *stride;
  else
    bWalk = std::make_shared<WalkedOperand>(std::move(right));
  if (!part.rows.isEven(cStride))
    cRows = std::make_shared<RowPlaces>(part.rows);
}

Product::Product(const ProductShape &shape, int workers, InstructionSet set)
    : shape(shape), thin(!shape.continues && !shape.aWalk && !shape.bWalk && !shape.cRows && shape.m <= mostThinRows(shape, set)),
      kernels(thin ? thinKernels(set, shape.type, shape.bTransposed) : tileKernels(set, shape.type)),
      tileBytes(kernels.rows * kernels.columns * sumBytes(shape.type)), inC(shape.result == ProductResult::Sums && !shape.accumulate) {
  if (thin) {
    cutThin(workers);
  } else {
    cutForCaches();
    cutForWorkers(workers);
  }
}

void Product::cutForCaches() {
  blockK = evenBlock(shape.k, kernels.blockK, kernels.group);
  inPlace = chooseInPlace();
  if (inPlace == InPlace::B)
    blockK = evenBlock(shape.k, (shape.m <= mostFlatRows ? 4 : 2) * kernels.blockK, kernels.group);
  carried = blockK < shape.k && !inC;
  stepRows = carried ? evenBlock(shape.m, mostCarriedRows, kernels.rows) : roundUp(shape.m, kernels.rows);
  stepColumns = inPlace == InPlace::B ? roundUp(shape.n, kernels.columns)
                                      : evenBlock(shape.n, mostPanelBytes / (blockK * kernels.packedBytes), kernels.columns);
  if (carried)
    stepColumns = std::min(stepColumns, evenBlock(shape.n, mostCarriedColumns, kernels.columns));
  countSteps();
  // B passes through the first-level cache together with the panel of A.
  passK = std::min(kernels.passK, std::max<int64_t>(firstLevelCache() * 9 / 10 / (kernels.rows * kernels.packedBytes), kernels.group));
}

void Product::countSteps() {
  if (!thin)
    steps = ceilDivide(shape.m, stepRows) * ceilDivide(shape.n, stepColumns) * ceilDivide(shape.k, blockK);
}

Product Product::withRows(int64_t m) const {
  Product fewer = *this;
  fewer.shape.m = m;
  fewer.countSteps();
  return fewer;
}

Product Product::withDepth(int64_t k) const {
  Product shallower = *this;
  shallower.shape.k = k;
  shallower.countSteps();
  return shallower;
}

Product Product::fromZero() const {
  Product first = *this;
  first.shape.continues = false;
  return first;
}

/// Two parts for each worker, because workers are not equally fast, cut so that the least of A is packed again and of B fetched again by
/// several parts.
void Product::cutForWorkers(int workers) {
  int64_t tilesDown = stepRows / kernels.rows, tilesAcross = stepColumns / kernels.columns, most = workers > 1 ? 2 * workers : 1;
  packParts = std::min<int64_t>(workers, inPlace == InPlace::B ? tilesDown : tilesAcross);
  // Packing an element costs about as much as 24 multiplications of the tile, fetching a packed one as 4.
  const double perA = inPlace == InPlace::Neither ? 24 : 4;
  double best = 0;
  for (int64_t down = 1; down <= std::min(most, tilesDown); ++down) {
    int64_t across = std::min(most / down, tilesAcross), rounds = ceilDivide(down * across, workers);
    int64_t rows = ceilDivide(tilesDown, down) * kernels.rows, columns = ceilDivide(tilesAcross, across) * kernels.columns;
    double time = double(rounds) * (double(rows) * columns + perA * rows + 4.0 * columns);
    if (best == 0 || time < best)
      best = time, partRows = down, partColumns = across;
  }
  int64_t columns = ceilDivide(tilesAcross, partColumns) * kernels.columns;
  stripColumns = evenBlock(columns, kernels.stripColumns, kernels.columns);
  int64_t mostRows = columns > stripColumns ? kernels.blockRows : mostLoneBytes / (blockK * kernels.packedBytes);
  blockRows = evenBlock(ceilDivide(tilesDown, partRows) * kernels.rows, inPlace == InPlace::B ? stepRows : mostRows, kernels.rows);
}

uint64_t Product::panelBytes() const {
  return roundUp((inPlace == InPlace::B ? stepRows : stepColumns) * blockK * kernels.packedBytes, alignment);
}

uint64_t Product::sharedBytes() const {
  if (thin)
    return 0;
  return panelBytes() + (carried ? uint64_t(stepRows / kernels.rows) * (stepColumns / kernels.columns) * tileBytes : 0);
}

/// A block of A, or the places of an operand; and what is staged of A or of B.
uint64_t Product::packedBytes() const {
  int64_t block = inPlace == InPlace::Neither ? blockRows * blockK * kernels.packedBytes : placesBytes();
  return roundUp(block, alignment) + (shape.aWalk || shape.bWalk ? WalkedOperand::stageBytes : 0);
}

uint64_t Product::partBytes() const {
  if (thin)
    return thinBytes();
  int64_t tiles = inC || carried ? 1 : stripColumns / kernels.columns;
  return packedBytes() + tiles * tileBytes;
}

/// k is innermost: sums wait for no other step.
Product::Step Product::stepOf(int64_t phase) const {
  int64_t index = phase / 2, depths = ceilDivide(shape.k, blockK), across = ceilDivide(shape.n, stepColumns);
  int64_t k = index % depths * blockK, column = index / depths % across * stepColumns, row = index / depths / across * stepRows;
  int64_t end = std::min(k + blockK, shape.k);
  return {{row, std::min(row + stepRows, shape.m)},
          {column, std::min(column + stepColumns, shape.n)},
          {k, end},
          k == 0 && !shape.continues,
          end == shape.k};
}

void Product::run(int64_t phase, int64_t part, const ProductOperands &operands, void *shared, void *own) const {
  if (thin)
    return runThin(part, operands, static_cast<char *>(own));
  Step step = stepOf(phase);
  if (phase % 2)
    multiply(step, part, operands, static_cast<char *>(shared), static_cast<char *>(own));
  else
    pack(step, part, operands, static_cast<char *>(shared), static_cast<char *>(own));
}

void Product::pack(const Step &step, int64_t part, const ProductOperands &operands, char *panels, char *own) const {
  const bool packsA = inPlace == InPlace::B;
  const Range &lines = packsA ? step.rows : step.columns;
  const int64_t depth = step.k.end - step.k.begin, width = packsA ? kernels.rows : kernels.columns;
  auto [begin, end] = share(ceilDivide(lines.end - lines.begin, width), part, packParts);
  if (begin == end)
    return;
  int64_t first = lines.begin + begin * width, last = std::min(lines.begin + end * width, lines.end);
  panels += begin * width * roundUp(depth, kernels.group) * kernels.packedBytes;
  if (packsA)
    packA(operands.a, first, last - first, step.k, panels, own);
  else if (shape.bWalk)
    shape.bWalk->pack(kernels, operands.b, first, last - first, step.k.begin, depth, panels, own);
  else
    kernels.packB({operands.b, shape.bStride, shape.bTransposed}, step.k.begin, depth, first, last - first, panels);
}

void Product::packA(const void *a, int64_t row, int64_t rows, const Range &k, char *panels, char *stage) const {
  if (shape.aWalk)
    shape.aWalk->pack(kernels, a, row, rows, k.begin, k.end - k.begin, panels, stage);
  else
    kernels.packA({a, shape.aStride, shape.aTransposed}, row, rows, k.begin, k.end - k.begin, panels);
}

void Product::multiply(const Step &step, int64_t part, const ProductOperands &operands, char *shared, char *own) const {
  int64_t tilesAcross = ceilDivide(step.columns.end - step.columns.begin, kernels.columns);
  auto [top, bottom] = share(ceilDivide(step.rows.end - step.rows.begin, kernels.rows), part / partColumns, partRows);
  auto [left, right] = share(tilesAcross, part % partColumns, partColumns);
  int64_t lastRow = std::min(step.rows.begin + bottom * kernels.rows, step.rows.end);
  int64_t lastColumn = std::min(step.columns.begin + right * kernels.columns, step.columns.end);
  FloatControl control(kernels.flushes ? FloatControl::Flushing : FloatControl::Precise);
  kernels.begin();
  Strip strip{};
  strip.k = step.k.begin, strip.depth = step.k.end - step.k.begin, strip.paddedDepth = roundUp(strip.depth, kernels.group);
  strip.first = step.first, strip.last = step.last;
  strip.target = {operands.c, shape.cStride, shape.result, shape.accumulate};
  strip.sumsDown = carried ? tilesAcross * tileBytes : 0;
  strip.places = own;
  char *sums = carried ? shared + panelBytes() : own + packedBytes();
  for (strip.row = step.rows.begin + top * kernels.rows; strip.row < lastRow; strip.row += blockRows) {
    const int64_t down = strip.row - step.rows.begin;
    strip.rows = std::min(blockRows, lastRow - strip.row);
    strip.a = inPlace == InPlace::A   ? static_cast<const char *>(operands.a)
              : inPlace == InPlace::B ? shared + down * strip.paddedDepth * kernels.packedBytes
                                      : own;
    if (inPlace == InPlace::Neither)
      packA(operands.a, strip.row, strip.rows, step.k, own, own + packedBytes() - WalkedOperand::stageBytes);
    for (strip.column = step.columns.begin + left * kernels.columns; strip.column < lastColumn; strip.column += stripColumns) {
      int64_t across = strip.column - step.columns.begin;
      strip.columns = std::min(stripColumns, lastColumn - strip.column);
      strip.b = inPlace == InPlace::B ? static_cast<const char *>(operands.b) : shared + across * strip.paddedDepth * kernels.packedBytes;
      strip.sums = carried ? sums + (down / kernels.rows * tilesAcross + across / kernels.columns) * tileBytes : sums;
      multiplyStrip(strip);
    }
  }
  kernels.end();
}

/// A pass takes as many k of a panel of A as stay in the first-level cache while the panels of B in the strip pass by from the second;
/// their sums stay there for the next pass. Rows of A in place take a single pass, because they share lines.
void Product::multiplyStrip(const Strip &strip) const {
  const int64_t panelBytesA = strip.paddedDepth * kernels.rows * kernels.packedBytes;
  const int64_t mostDepth = inPlace == InPlace::A ? strip.depth : evenBlock(strip.depth, passK, kernels.group);
  Pass pass{};
  pass.panelBytesB = strip.paddedDepth * kernels.columns * kernels.packedBytes;
  const void **steps = nullptr;
  if (inPlace == InPlace::B) {
    steps = reinterpret_cast<const void **>(strip.places);
    pass.stepsAcross = strip.depth + stepsAhead;
    placeSteps(strip, steps);
  }
  char *sums = strip.sums;
  for (int64_t i = 0; i < strip.rows; i += kernels.rows, sums += strip.sumsDown) {
    const int usedRows = int(std::min<int64_t>(kernels.rows, strip.rows - i));
    const TileRows rows = rowsOf(strip.row + i, usedRows);
    RunsOfRows runs;
    if (inPlace == InPlace::A)
      runs = placeRows(strip, strip.row + i, usedRows), pass.runs = &runs;
    pass.rows = &rows, pass.usedRows = usedRows;
    for (int64_t k = 0; k < strip.depth; k += mostDepth) {
      pass.depth = std::min(mostDepth, strip.depth - k);
      pass.first = strip.first && k == 0, pass.last = strip.last && k + mostDepth >= strip.depth;
      pass.a = strip.a + i / kernels.rows * panelBytesA + k * kernels.rows * kernels.packedBytes;
      pass.b = strip.b + k * kernels.columns * kernels.packedBytes;
      pass.steps = steps ? steps + k : nullptr;
      multiplyPass(strip, pass, sums);
    }
    if (strip.last && kernels.flushes && !inC)
      finishRow(strip, rows, usedRows, sums);
  }
}

Product::TileRows Product::rowsOf(int64_t row, int usedRows) const {
  TileRows rows;
  rows.isEven = true;
  rows.stride = shape.cStride;
  rows.places[0] = row * shape.cStride;
  if (!shape.cRows)
    return rows;
  shape.cRows->offsets(row, usedRows, rows.places);
  rows.stride = usedRows > 1 ? rows.places[1] - rows.places[0] : shape.cStride;
  for (int r = 2; r < usedRows; ++r)
    rows.isEven = rows.isEven && rows.places[r] - rows.places[r - 1] == rows.stride;
  return rows;
}

inline void Product::multiplyTile(const Pass &pass, int64_t panel, char *tile, int64_t stride) const {
  const char *b = pass.b + panel * pass.panelBytesB;
  if (pass.runs)
    kernels.multiplyPlacedA(*pass.runs, b, tile, stride, pass.usedRows, pass.first);
  else if (pass.steps)
    kernels.multiplyPlacedB(pass.depth, pass.a, shape.aTransposed, pass.steps + panel * pass.stepsAcross, tile, stride, pass.usedRows,
                            pass.first);
  else
    kernels.multiply(pass.depth, pass.a, shape.aTransposed, b, tile, stride, pass.usedRows, pass.first);
}

void Product::multiplyPass(const Strip &strip, const Pass &pass, char *sums) const {
  const int64_t bytes = resultBytes(shape);
  bool readsC = inC ? !pass.first : pass.last && shape.accumulate, prefetches = kernels.prefetchesResult && readsC;
  const TileRows &rows = *pass.rows;
  for (int64_t j = 0; j < strip.columns; j += kernels.columns) {
    const int64_t panel = j / kernels.columns;
    int usedColumns = int(std::min<int64_t>(kernels.columns, strip.columns - j));
    char *tile = static_cast<char *>(strip.target.data) + (rows.places[0] + strip.column + j) * bytes;
    if (prefetches && j + kernels.columns < strip.columns)
      prefetchTile(tile + kernels.columns * bytes, rows.stride * bytes, pass.usedRows, kernels.columns * bytes);
    if (!inC) {
      multiplyTile(pass, panel, sums, kernels.columns);
      if (pass.last && !kernels.flushes)
        finish(strip.target, sums, rows, strip.column + j, pass.usedRows, usedColumns);
      sums += tileBytes;
    } else if (pass.usedRows == kernels.rows && usedColumns == kernels.columns && rows.isEven) {
      multiplyTile(pass, panel, tile, rows.stride);
    } else {
      multiplyEdge(strip, pass, panel, strip.column + j, usedColumns);
    }
  }
}

/// A tile that reaches over C's edge, or whose rows are unevenly apart, by way of the part's own memory.
void Product::multiplyEdge(const Strip &strip, const Pass &pass, int64_t panel, int64_t column, int usedColumns) const {
  const int64_t bytes = sumBytes(shape.type);
  const TileRows &rows = *pass.rows;
  const char *from = static_cast<const char *>(strip.target.data) + column * bytes;
  if (!pass.first)
    for (int r = 0; r < pass.usedRows; ++r)
      std::memcpy(strip.sums + r * kernels.columns * bytes,
                  from + (rows.isEven ? rows.places[0] + r * rows.stride : rows.places[r]) * bytes, usedColumns * bytes);
  multiplyTile(pass, panel, strip.sums, kernels.columns);
  finish(strip.target, strip.sums, rows, column, pass.usedRows, usedColumns);
}

void Product::finish(const ProductTarget &target, const char *sums, const TileRows &rows, int64_t column, int usedRows,
                     int usedColumns) const {
  const int atOnce = rows.isEven ? usedRows : 1;
  for (int r = 0; r < usedRows; r += atOnce, sums += kernels.columns * sumBytes(shape.type)) {
    ProductTarget some = target;
    some.data = static_cast<char *>(target.data) + rows.places[r] * resultBytes(shape);
    some.stride = rows.stride;
    kernels.finish(some, sums, 0, column, atOnce, usedColumns);
  }
}

/// Results are rounded and added to without flushing.
void Product::finishRow(const Strip &strip, const TileRows &rows, int usedRows, const char *sums) const {
  FloatControl control(FloatControl::Precise);
  for (int64_t j = 0; j < strip.columns; j += kernels.columns, sums += tileBytes)
    finish(strip.target, sums, rows, strip.column + j, usedRows, int(std::min<int64_t>(kernels.columns, strip.columns - j)));
}

} // namespace npar::engine
