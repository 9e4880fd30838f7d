// The loops around register tiles: blocks of rows, of columns, of k, strips of columns, then panels (after Goto, van de Geijn: Anatomy of
// high-performance matrix multiplication, 2008, with A and B changed over), with sums carried from one block of k to the next.
#include "engine/product/Product.h"

#include "engine/product/FloatControl.h"

#include <algorithm>

namespace npar::engine {

namespace {

constexpr int64_t alignment = 64;
/// What lies in the third-level cache: packed blocks of B, and sums that are carried over blocks of k.
constexpr int64_t mostCarriedColumns = 1024, mostPackedColumns = 1024;

int64_t ceilDivide(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t roundUp(int64_t value, int64_t multiple) { return ceilDivide(value, multiple) * multiple; }

/// Blocks of at most `most`, multiples of `unit`, as equal as they get.
int64_t evenBlock(int64_t extent, int64_t most, int64_t unit) {
  int64_t blocks = ceilDivide(extent, std::max(most, unit));
  return roundUp(ceilDivide(extent, blocks), unit);
}

char *advance(void *pointer, int64_t bytes) { return static_cast<char *>(pointer) + bytes; }
const char *advance(const void *pointer, int64_t bytes) { return static_cast<const char *>(pointer) + bytes; }

/// The lines of C that the next tile takes its sums from and is written to, while the one before is multiplied.
void prefetchResult(const Epilogue &e, int64_t sumBytes, int64_t row, int64_t column, int rows, int columns) {
  if (e.generated)
    return;
  int64_t bytes = e.resultType == ProductResult::Sums ? sumBytes : 2;
  const char *line = static_cast<const char *>(e.result) + (row * e.stride + column) * bytes;
  for (int r = 0; r < rows; ++r, line += e.stride * bytes)
    for (int64_t at = 0; at < columns * bytes; at += 64)
      __builtin_prefetch(line + at, 1);
}

/// Nothing is left to do to the sums: they are carried in C itself, except those of tiles that reach over its edge.
bool isStored(const Epilogue &e) { return !e.generated && e.resultType == ProductResult::Sums && !e.accumulate && !e.bias && !e.residual; }

int64_t sumBytes(ProductType type) { return type == ProductType::F64 ? 8 : 4; }

} // namespace

/// Packed panels of A and B, and where their sums are.
struct Product::Block {
  int64_t row, rows, column, columns, depth, paddedDepth;
  const char *a, *b;
  char *sums;
  /// From a panel of A to the next; 0 where no sums are carried.
  int64_t sumsDown;
  bool first, last;
};

/// A panel of A, from its row in the block on, over some k of the block.
struct Product::Pass {
  int64_t row;
  int usedRows;
  int64_t depth;
  bool first, last;
  const char *a = nullptr, *b = nullptr;
};

/// Cuts C so that what several parts pack again (A for parts side by side, B for parts above each other) is least.
Product::Product(const ProductShape &shape, int workers, InstructionSet set) : shape(shape), kernels(tileKernels(set, shape.type)) {
  int64_t tilesDown = ceilDivide(shape.m, kernels.rows), tilesAcross = ceilDivide(shape.n, kernels.columns);
  double best = 0;
  for (int down = 1; down <= workers; ++down) {
    int across = workers / down;
    if (down > tilesDown || across > tilesAcross)
      continue;
    int64_t rows = ceilDivide(tilesDown, down) * kernels.rows, columns = ceilDivide(tilesAcross, across) * kernels.columns;
    // A packed element costs about as much as 24 multiplications of the tile.
    double time = double(rows) * columns + 24.0 * (rows + columns);
    if (best == 0 || time < best)
      best = time, partRows = down, partColumns = across;
  }
  blockK = evenBlock(shape.k, kernels.blockK, kernels.group);
  blockRows = evenBlock(ceilDivide(tilesDown, partRows) * kernels.rows, kernels.blockRows, kernels.rows);
  blockColumns = ceilDivide(tilesAcross, partColumns) * kernels.columns;
  if (blockK < shape.k)
    blockColumns = evenBlock(blockColumns, mostCarriedColumns, kernels.columns);
  packColumns = evenBlock(blockColumns, mostPackedColumns, kernels.columns);
  stripColumns = evenBlock(packColumns, kernels.stripColumns, kernels.columns);
}

Product::Range Product::rowsOf(int part) const {
  int64_t tiles = ceilDivide(shape.m, kernels.rows), index = part / partColumns;
  return {tiles * index / partRows * kernels.rows, std::min(tiles * (index + 1) / partRows * kernels.rows, shape.m)};
}

Product::Range Product::columnsOf(int part) const {
  int64_t tiles = ceilDivide(shape.n, kernels.columns), index = part % partColumns;
  return {tiles * index / partColumns * kernels.columns, std::min(tiles * (index + 1) / partColumns * kernels.columns, shape.n)};
}

uint64_t Product::scratchBytes(bool packedB) const {
  int64_t depth = roundUp(std::min(blockK, shape.k), kernels.group);
  int64_t a = roundUp(blockRows * depth * kernels.packedBytes, alignment);
  int64_t b = packedB ? 0 : roundUp(packColumns * depth * kernels.packedBytes, alignment);
  int64_t sums = blockK < shape.k ? blockRows * blockColumns : kernels.rows * stripColumns;
  return uint64_t(a + b + roundUp(sums * sumBytes(shape.type), alignment));
}

void Product::run(int part, const void *a, const void *b, const Epilogue &epilogue, void *scratch) const {
  runBlocks(part, a, b, nullptr, epilogue, scratch);
}

void Product::runPacked(int part, const void *a, const void *packed, const Epilogue &epilogue, void *scratch) const {
  runBlocks(part, a, nullptr, packed, epilogue, scratch);
}

uint64_t Product::packedBytes() const {
  return uint64_t(roundUp(shape.k, kernels.group) * roundUp(shape.n, kernels.columns) * kernels.packedBytes);
}

/// One block of k after the other, in each all panels.
void Product::pack(const void *b, int64_t column, int64_t columns, void *packed) const {
  int64_t width = roundUp(shape.n, kernels.columns);
  for (int64_t k = 0; k < shape.k; k += blockK) {
    int64_t depth = std::min(blockK, shape.k - k);
    kernels.packB({b, shape.bStride, shape.bTransposed}, k, depth, column, columns,
                  advance(packed, (k * width + column * roundUp(depth, kernels.group)) * kernels.packedBytes));
  }
}

void Product::runBlocks(int part, const void *a, const void *b, const void *packed, const Epilogue &epilogue, void *scratch) const {
  FloatControl control(kernels.flushes ? FloatControl::Flushing : FloatControl::Precise);
  kernels.begin();
  Range rows = rowsOf(part), columns = columnsOf(part);
  int64_t mostDepth = roundUp(std::min(blockK, shape.k), kernels.group), width = roundUp(shape.n, kernels.columns);
  char *packedA = static_cast<char *>(scratch);
  char *packedB = packedA + roundUp(blockRows * mostDepth * kernels.packedBytes, alignment);
  char *sums = packed ? packedB : packedB + roundUp(packColumns * mostDepth * kernels.packedBytes, alignment);
  int64_t tileBytes = kernels.rows * kernels.columns * sumBytes(shape.type);
  bool carried = blockK < shape.k;

  Block block{};
  for (block.row = rows.begin; block.row < rows.end; block.row += blockRows) {
    block.rows = std::min(blockRows, rows.end - block.row);
    for (int64_t left = columns.begin; left < columns.end; left += blockColumns)
      for (int64_t k = 0; k < shape.k; k += blockK) {
        block.depth = std::min(blockK, shape.k - k), block.paddedDepth = roundUp(block.depth, kernels.group);
        block.first = k == 0, block.last = k + blockK >= shape.k;
        kernels.packA({a, shape.aStride, shape.aTransposed}, block.row, block.rows, k, block.depth, packedA);
        block.a = packedA;
        int64_t right = std::min(left + blockColumns, columns.end);
        for (int64_t column = left; column < right; column += packColumns) {
          int64_t packedWidth = std::min(packColumns, right - column);
          const char *panels = packedB;
          if (packed)
            panels = advance(packed, (k * width + column * block.paddedDepth) * kernels.packedBytes);
          else
            kernels.packB({b, shape.bStride, shape.bTransposed}, k, block.depth, column, packedWidth, packedB);
          for (int64_t strip = 0; strip < packedWidth; strip += stripColumns) {
            block.column = column + strip, block.columns = std::min(stripColumns, packedWidth - strip);
            block.b = panels + strip * block.paddedDepth * kernels.packedBytes;
            block.sumsDown = carried ? ceilDivide(block.columns, kernels.columns) * tileBytes : 0;
            block.sums = carried ? sums + (block.column - left) / kernels.columns * ceilDivide(block.rows, kernels.rows) * tileBytes : sums;
            multiplyStrip(block, epilogue);
          }
        }
      }
  }
  kernels.end();
}

/// As many k of a panel of A as a pass takes stay in the first-level cache while the panels of B in the strip pass by from the second; what
/// they add up to waits there for the next pass.
void Product::multiplyStrip(const Block &block, const Epilogue &epilogue) const {
  int64_t panelBytesA = block.paddedDepth * kernels.rows * kernels.packedBytes;
  int64_t passK = evenBlock(block.depth, kernels.passK, kernels.group);
  const char *a = block.a;
  char *sums = block.sums;
  for (int64_t i = 0; i < block.rows; i += kernels.rows, a += panelBytesA, sums += block.sumsDown) {
    int usedRows = int(std::min<int64_t>(kernels.rows, block.rows - i));
    for (int64_t k = 0; k < block.depth; k += passK) {
      Pass pass{i, usedRows, std::min(passK, block.depth - k), block.first && k == 0, block.last && k + passK >= block.depth};
      pass.a = a + k * kernels.rows * kernels.packedBytes, pass.b = block.b + k * kernels.columns * kernels.packedBytes;
      multiplyPass(block, pass, epilogue, sums);
    }
    if (block.last && kernels.flushes)
      finishRow(block, epilogue, sums, i, usedRows);
  }
}

void Product::multiplyPass(const Block &block, const Pass &pass, const Epilogue &epilogue, char *sums) const {
  int64_t tileBytes = kernels.rows * kernels.columns * sumBytes(shape.type);
  int64_t panelBytesB = block.paddedDepth * kernels.columns * kernels.packedBytes;
  int64_t lastPanel = (block.columns - 1) / kernels.columns * kernels.columns;
  bool stored = isStored(epilogue), prefetches = kernels.prefetchesResult && (stored || pass.last);
  const char *b = pass.b;
  for (int64_t j = 0; j < block.columns; j += kernels.columns, b += panelBytesB, sums += tileBytes) {
    int usedColumns = int(std::min<int64_t>(kernels.columns, block.columns - j));
    if (prefetches)
      prefetchResult(epilogue, sumBytes(shape.type), block.row + pass.row, block.column + std::min(j + kernels.columns, lastPanel), pass.usedRows,
                     kernels.columns);
    if (stored && pass.usedRows == kernels.rows && usedColumns == kernels.columns) {
      int64_t at = (block.row + pass.row) * epilogue.stride + block.column + j;
      char *tile = static_cast<char *>(epilogue.result) + at * sumBytes(shape.type);
      kernels.multiply(pass.depth, pass.a, shape.aTransposed, b, tile, epilogue.stride, pass.usedRows, pass.first);
      continue;
    }
    kernels.multiply(pass.depth, pass.a, shape.aTransposed, b, sums, kernels.columns, pass.usedRows, pass.first);
    if (pass.last && !kernels.flushes)
      kernels.finish(epilogue, sums, block.row + pass.row, block.column + j, pass.usedRows, usedColumns);
  }
}

/// Epilogues do not flush.
void Product::finishRow(const Block &block, const Epilogue &epilogue, const char *sums, int64_t i, int usedRows) const {
  int64_t tileBytes = kernels.rows * kernels.columns * sumBytes(shape.type);
  FloatControl control(FloatControl::Precise);
  bool stored = isStored(epilogue) && usedRows == kernels.rows;
  for (int64_t j = 0; j < block.columns; j += kernels.columns, sums += tileBytes)
    if (int usedColumns = int(std::min<int64_t>(kernels.columns, block.columns - j)); !stored || usedColumns < kernels.columns)
      kernels.finish(epilogue, sums, block.row + i, block.column + j, usedRows, usedColumns);
}

const TileKernels &tileKernels(InstructionSet set, ProductType type) {
  switch (set) {
  case InstructionSet::Tiles:
    return type == ProductType::BF16 ? tilesKernels() : avx512Kernels(type);
  case InstructionSet::Avx512:
    return avx512Kernels(type);
  case InstructionSet::Avx2:
    return avx2Kernels(type);
  case InstructionSet::Plain:
    break;
  }
  return plainKernels(type);
}

} // namespace npar::engine
