// What the loops of a product need from an instruction set: how panels are packed and one register tile multiplied and written.
#pragma once

#include "engine/product/InstructionSet.h"
#include "engine/product/ProductTarget.h"

#include <cstdint>

namespace npar::engine {

/// Bits of NaNs are not part of any definition here.
///
/// F32, F64, F16:  c = fma(a[k], b[k], c) for ascending k, starting from +0: one chain over the whole of k. F16 is widened first
///            and summed in float32.
/// TF32:      as F32, with elements of A and B, which lie there as float32, rounded to TF32 first (compiler/RULES.md#N8).
/// BF16:      k in groups of 32, the last one filled with +0. In a group even and odd k are two chains of fma from +0, in ascending k;
///            c = c + (even + odd). Float32; every operand that is denormal counts as zero, every denormal result becomes zero of its
///            sign (tiny after rounding). This is TDPBF16PS (Intel SDM, volume 2) on tiles of 64 bytes a row.
enum class ProductType { F32, F64, BF16, F16, TF32 };

/// An operand as it lies in memory: row-major with `stride` elements from row to row, or its transpose.
struct Operand {
  const void *data;
  int64_t stride;
  bool transposed;
};

/// Panels. Of A: `rows` rows, of B: `columns` columns, all k of a block; both filled with +0 up to full panels and groups of k.
/// A panel is padded(k) * rows (or columns) * packedBytes bytes long. What the order inside is only the set itself knows; that of A
/// differs with `transposed`, so `multiply` is told.
struct TileKernels {
  int rows, columns;
  /// k is cut into blocks at multiples of it, and panels are filled up to it.
  int group;
  int packedBytes;
  /// Good sizes for the caches: so many k of so many rows of A are packed at once, so many columns of B have panels that fit the second
  /// level, and at most so many k are multiplied before the next panel of B has its turn that a panel of A of that depth stays in the
  /// first.
  int64_t blockK, blockRows, stripColumns, passK;

  /// [row, row + rows) x [k, k + depth) of A into panels.
  void (*packA)(const Operand &a, int64_t row, int64_t rows, int64_t k, int64_t depth, void *panels);
  /// [k, k + depth) x [column, column + columns) of B into panels.
  void (*packB)(const Operand &b, int64_t k, int64_t depth, int64_t column, int64_t columns, void *panels);
  /// Continues (or starts, `first`) the sums of one tile, [rows, columns] with `stride` elements from row to row, over `depth` of k.
  /// Only the first `usedRows` rows need to be right; the others may be written, too.
  void (*multiply)(int64_t depth, const void *aPanel, bool aTransposed, const void *bPanel, void *tile, int64_t stride, int usedRows,
                   bool first);
  /// Writes `usedRows` x `usedColumns` of the finished tile (rows side by side) whose corner is (row, column) of C.
  void (*finish)(const ProductTarget &target, const void *tile, int64_t row, int64_t column, int usedRows, int usedColumns);
  /// Products of few rows read B where it lies. [0, rows) x [0, depth) of A as multiplyThin takes it, filled up with +0 to `padded`: at
  /// most rows of so many elements of the sums' type.
  void (*widenThin)(const Operand &a, int64_t rows, int64_t depth, int64_t padded, void *factors);
  /// Sums over all k for [column, column + columns) of B, in tiles for `finish`, one after the other, of `rows` rows. Behind them must be
  /// room for twice as many sums and for a row of B.
  void (*multiplyThin)(int64_t rows, int64_t depth, const void *factors, int64_t padded, const Operand &b, int64_t column, int64_t columns,
                       void *tiles);
  /// Around the work of one part: what the processor must be told (tile shapes; flushing is told around `multiply`).
  void (*begin)();
  void (*end)();
  /// `multiply` runs with denormals flushed.
  bool flushes;
  /// Tiles that read C are faster where its lines are fetched while the tile before is multiplied.
  bool prefetchesResult;
};

/// Only BF16 has tiles: for other types the next lower set's kernels are given.
const TileKernels &tileKernels(InstructionSet set, ProductType type);

/// Those that multiply few rows; with tiles only by a B that is transposed, whose rows are tiles as they lie.
const TileKernels &thinKernels(InstructionSet set, ProductType type, bool bTransposed);

const TileKernels &plainKernels(ProductType type);
const TileKernels &avx2Kernels(ProductType type);
const TileKernels &avx512Kernels(ProductType type);
/// BF16 only; the latter for few rows and a B that is transposed.
const TileKernels &tilesKernels();
TileKernels thinTilesKernels();

} // namespace npar::engine
