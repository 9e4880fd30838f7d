// Matrix products whose bits are npar's own: each element of C is summed in one order over k that TileKernels.h defines, whatever the
// tiles, parts, threads, instruction set and machine.
#pragma once

#include "engine/product/Epilogue.h"
#include "engine/product/TileKernels.h"

#include <cstdint>

namespace npar::engine {

/// C[m,n] = A[m,k] B[k,n]; operands as they lie in memory, strides in elements.
struct ProductShape {
  ProductType type;
  int64_t m, n, k;
  int64_t aStride, bStride;
  bool aTransposed = false, bTransposed = false;
};

/// A product planned for a number of workers: parts that can run at the same time, in any order, on any thread, each with scratch of
/// its own. No allocation and no lock in `run`.
class Product {
public:
  /// m, n, k >= 1. `parts` is at most `workers`; small products get fewer.
  Product(const ProductShape &shape, int workers, InstructionSet set);

  int parts() const { return partRows * partColumns; }
  /// Of one part, aligned to 64.
  uint64_t scratchBytes(bool packedB = false) const;
  void run(int part, const void *a, const void *b, const Epilogue &epilogue, void *scratch) const;

  /// B packed once and used by many products of the same n, k and set, whatever their m and workers: bytes, aligned to 64.
  uint64_t packedBytes() const;
  /// Columns [column, column + columns) of it; both multiples of `packedColumns`, or up to the end. Parts of it can run at the same time.
  void pack(const void *b, int64_t column, int64_t columns, void *packed) const;
  int64_t packedColumns() const { return kernels.columns; }
  void runPacked(int part, const void *a, const void *packed, const Epilogue &epilogue, void *scratch) const;

private:
  struct Range {
    int64_t begin, end;
  };
  struct Block;
  struct Pass;
  Range rowsOf(int part) const;
  Range columnsOf(int part) const;
  void runBlocks(int part, const void *a, const void *b, const void *packed, const Epilogue &epilogue, void *scratch) const;
  void multiplyStrip(const Block &block, const Epilogue &epilogue) const;
  void multiplyPass(const Block &block, const Pass &pass, const Epilogue &epilogue, char *sums) const;
  void finishRow(const Block &block, const Epilogue &epilogue, const char *sums, int64_t i, int usedRows) const;

  ProductShape shape;
  const TileKernels &kernels;
  int partRows = 1, partColumns = 1;
  /// Sizes of blocks as cut for this shape; `blockK` depends on k alone, since packed operands are shared.
  int64_t blockK, blockRows, blockColumns, packColumns, stripColumns;
};

} // namespace npar::engine
