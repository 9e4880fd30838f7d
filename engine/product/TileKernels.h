// The instruction-set kernels that the loops of a product need: they pack panels, and multiply and write one register tile.
#pragma once

#include "engine/device/InstructionSet.h"
#include "engine/product/ProductTarget.h"

#include <cstdint>

namespace npar::engine {

/// Bits of NaNs are not part of any definition here.
///
/// F32, F64, F16:  c = fma(a[k], b[k], c) for ascending k, starting from +0: one chain over the whole of k. F16 is widened first
///            and summed in float32.
/// TF32:      as F32, with elements of A and B, which are stored as float32, rounded to TF32 first (compiler/RULES.md#N8).
/// BF16:      k in groups of 32, the last one filled with +0. In a group even and odd k are two chains of fma from +0, in ascending k;
///            c = c + (even + odd). Float32; every operand that is denormal counts as zero, every denormal result becomes zero of its
///            sign (tiny after rounding). This is TDPBF16PS (Intel SDM, volume 2) on tiles of 64 bytes a row.
/// BF16Pairs: k in pairs, the last one filled with +0. One chain of fma from +0 over the pairs in ascending k: the odd k of a pair comes
///            first, then the even one. Float32; denormals as for BF16. This is VDPBF16PS (Intel SDM, volume 2).
enum class ProductType { F32, F64, BF16, BF16Pairs, F16, TF32 };

/// An operand in memory: row-major with `stride` elements from row to row, or its transpose.
struct Operand {
  const void *data;
  int64_t stride;
  bool transposed;
};

/// No set has tiles of more rows.
constexpr int mostTileRows = 32;

/// Rows of A in place: `count` runs of k, each with its depth and with an address for each row of a tile.
struct RunsOfRows {
  int64_t count;
  const int64_t *depths;
  const void *const *places;
  /// Elements from a row to the one that the next tile probably reads.
  int64_t ahead;
};

constexpr int stepsAhead = 16;

/// Panels. Of A: `rows` rows, of B: `columns` columns, all k of a block; both padded with +0 to full panels and groups of k. A panel is
/// padded(k) * rows (or columns) * packedBytes bytes long. Only the set itself knows the order inside; that of A depends on `transposed`,
/// so `multiply` gets it as a parameter.
struct TileKernels {
  int rows, columns;
  /// k is cut into blocks at multiples of this number, and panels are padded to it.
  int group;
  int packedBytes;
  /// Good sizes for the caches. `blockK` of k of `blockRows` rows of A are packed at once. Panels of `stripColumns` columns of B fit into
  /// the second-level cache. At most `passK` of k are multiplied before the next panel of B, so that a panel of A of that depth stays in
  /// the first-level cache.
  int64_t blockK, blockRows, stripColumns, passK;

  /// Packs [row, row + rows) x [k, k + depth) of A into panels.
  void (*packA)(const Operand &a, int64_t row, int64_t rows, int64_t k, int64_t depth, void *panels);
  /// Packs [k, k + depth) x [column, column + columns) of B into panels.
  void (*packB)(const Operand &b, int64_t k, int64_t depth, int64_t column, int64_t columns, void *panels);
  /// Continues (or starts, `first`) the sums of one tile, [rows, columns] with `stride` elements from row to row, over `depth` of k.
  /// Only the first `usedRows` rows need to be right; the others may be written, too.
  void (*multiply)(int64_t depth, const void *aPanel, bool aTransposed, const void *bPanel, void *tile, int64_t stride, int usedRows,
                   bool first);
  /// Writes `usedRows` x `usedColumns` of the finished tile (rows side by side) whose corner is (row, column) of C.
  void (*finish)(const ProductTarget &target, const void *tile, int64_t row, int64_t column, int usedRows, int usedColumns);
  /// Products of few rows read B in place. Converts [0, rows) x [0, depth) of A for multiplyThin, padded with +0 to `padded`: at most
  /// `rows` rows of `padded` elements of the sums' type.
  void (*widenThin)(const Operand &a, int64_t rows, int64_t depth, int64_t padded, void *factors);
  /// Converts the first row of a panel that packA or a softmax wrote from rows of A: `depth` of k, padded with +0 to `padded`, as widenThin
  /// does. Null where the kernels for few rows are those of another set.
  void (*widenPanelRow)(const void *panel, int64_t depth, int64_t padded, void *factors);
  /// Computes sums over all k for [column, column + columns) of B, in consecutive tiles of `rows` rows for `finish`. The memory after them
  /// must have room for twice as many sums and for a row of B.
  void (*multiplyThin)(int64_t rows, int64_t depth, const void *factors, int64_t padded, const Operand &b, int64_t column, int64_t columns,
                       void *tiles);
  /// Prepare and restore the processor's state around one part (tile shapes; flushing is set around `multiply`).
  void (*begin)();
  void (*end)();
  /// `multiply` runs with denormals flushed.
  bool flushes;
  /// Tiles that read C are faster if its lines are fetched while the previous tile is multiplied.
  bool prefetchesResult;
  /// Packs one panel of operands whose rows are anywhere; null where they must be copied first. Of A, from a place for each of its rows
  /// with `depth` of k, a multiple of `group`, as packA does without `transposed`. Of A as it does with `transposed`, and of B as packB
  /// does without: from a place for each of `depth` k, with all rows or columns of the panel.
  void (*packRowsA)(const void *const *rows, int64_t depth, void *panel) = nullptr;
  void (*packStepsA)(const void *const *steps, int64_t depth, void *panel) = nullptr;
  void (*packStepsB)(const void *const *steps, int64_t depth, void *panel) = nullptr;
  /// Does what `multiply` does, with rows of A in place; null where the elements in memory are not those of panels.
  void (*multiplyPlacedA)(const RunsOfRows &a, const void *bPanel, void *tile, int64_t stride, int usedRows, bool first) = nullptr;
  /// Does what `multiply` does, with B in place: it gets the address of the tile's first column for each of `depth` k, and of `stepsAhead`
  /// more that are only prefetched. All of the tile's columns exist. Null where multiplyPlacedA is.
  void (*multiplyPlacedB)(int64_t depth, const void *aPanel, bool aTransposed, const void *const *steps, void *tile, int64_t stride,
                          int usedRows, bool first) = nullptr;
};

/// The type that processors multiply as tiles, and the one that they multiply in pairs.
constexpr bool hasTiles(ProductType type) { return type == ProductType::BF16; }
constexpr bool hasPairs(ProductType type) { return type == ProductType::BF16Pairs; }

/// The best set up to `most` that has kernels of its own for the type: no better one than Avx512 unless the type has tiles or pairs.
InstructionSet ownSet(InstructionSet most, ProductType type);

/// The type of bf16 that a processor with these sets multiplies fastest: BF16 with tiles, else BF16Pairs with pairs, else BF16.
ProductType fastestBf16(InstructionSet set);

/// True if VDPBF16PS of this processor gives the bits of BF16Pairs in a product whose operands include denormals and zeros. Tried once. If
/// it fails, no product uses the instruction. Requires InstructionSet::Pairs.
bool pairsAreExact();

const TileKernels &tileKernels(InstructionSet set, ProductType type);

/// The kernels for few rows. With tiles they exist only for a transposed B, whose rows in memory already are tiles.
const TileKernels &thinKernels(InstructionSet set, ProductType type, bool bTransposed);

const TileKernels &plainKernels(ProductType type);
const TileKernels &avx2Kernels(ProductType type);
const TileKernels &avx512Kernels(ProductType type);
/// Kernels for BF16Pairs.
const TileKernels &pairsKernels();
/// Kernels for types that have tiles. The second is for few rows and a transposed B.
const TileKernels &tilesKernels();
TileKernels thinTilesKernels();

} // namespace npar::engine
