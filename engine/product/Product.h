// Matrix products whose bits are npar's own: each element of C is summed in one order over k that TileKernels.h defines, whatever the
// tiles, parts, threads, instruction set and machine.
#pragma once

#include "engine/product/ProductTarget.h"
#include "engine/product/TileKernels.h"
#include "engine/product/WalkedOperand.h"

#include <cstdint>
#include <memory>

namespace npar::engine {

/// C[m,n] (+)= A[m,k] B[k,n], for operands in place, with strides in elements.
struct ProductShape {
  ProductType type;
  int64_t m, n, k;
  int64_t aStride, bStride, cStride;
  bool aTransposed = false, bTransposed = false;
  ProductResult result = ProductResult::Sums;
  bool accumulate = false;
  /// The chain of each element continues the sum that C holds, +0 at first. So a product in several parts of k has the bits of one in a
  /// single part (of BF16 if the parts are multiples of 32). Requires plain sums without `accumulate`.
  bool continues = false;
  /// Not null: places of the elements of A or B, instead of `aStride` or `bStride`, and of the rows of C, instead of `cStride`.
  std::shared_ptr<const WalkedOperand> aWalk = nullptr, bWalk = nullptr;
  std::shared_ptr<const RowPlaces> cRows = nullptr;
  /// Several products share the packed B, so that it is never read in place.
  bool sharesB = false;

  /// Sets sizes and operands to those of a part that is not empty.
  void walk(const WindowedPart &part, int64_t elementBytes);
};

struct ProductOperands {
  const void *a, *b;
  void *c;
};

/// Largest number of rows of C for which reading B in place is faster than packing it.
int64_t mostThinRows(const ProductShape &shape, InstructionSet set);

/// A product planned for a number of workers. It has consecutive phases, whose parts can run at the same time, in any order, on any thread.
/// Phases alternate between packing B and multiplying, so panels of B are packed once for all workers. With few columns of C, rows of A are
/// read in place; with few rows, those of B, and A is packed for all workers. With very few rows there is a single phase that reads B in
/// place. `run` neither allocates nor locks.
class Product {
public:
  /// Requires m, n, k >= 1. A phase of a small product has fewer parts than there are workers.
  Product(const ProductShape &shape, int workers, InstructionSet set);

  int64_t phases() const { return thin ? 1 : 2 * steps; }
  int64_t parts(int64_t phase) const { return thin || phase % 2 ? partRows * partColumns : packParts; }
  /// Bytes of scratch, aligned to 64: for the product from its first phase to its last, and for a part while it runs.
  uint64_t sharedBytes() const;
  uint64_t partBytes() const;
  void run(int64_t phase, int64_t part, const ProductOperands &operands, void *shared, void *own) const;

  /// The same plan for fewer rows of C, or a smaller k: its scratch is no larger. Requires 1 <= m (k) <= the planned one.
  Product withRows(int64_t m) const;
  Product withDepth(int64_t k) const;
  /// The same plan for chains that start at +0: C is written and not read.
  Product fromZero() const;
  /// Returns whether a phase that packs depends on B alone, and no sums are kept in shared memory between the phases that multiply: several
  /// products with this plan and the same B may take turns after each phase that packs.
  bool sharesPanels() const { return !thin && !carried && inPlace != InPlace::B; }
  /// Rows of C, and of a tile of it; and the number of k that sums are grouped by: k is filled with +0 to a multiple of it.
  int64_t rows() const { return shape.m; }
  int64_t tileRows() const { return kernels.rows; }
  int64_t depthGroup() const { return kernels.group; }

private:
  struct Range {
    int64_t begin, end;
  };
  struct Step;
  struct Strip;
  struct Pass;
  struct TileRows;
  /// The operand that is read in place, while the other one is packed for all workers.
  enum class InPlace { Neither, A, B };
  InPlace chooseInPlace() const;
  bool rowsCollide() const;
  uint64_t placesBytes() const;
  int64_t runsOfBlock() const;
  RunsOfRows placeRows(const Strip &strip, int64_t row, int usedRows) const;
  void placeSteps(const Strip &strip, const void **steps) const;
  void cutForCaches();
  void countSteps();
  void cutForWorkers(int workers);
  void cutThin(int workers);
  Step stepOf(int64_t phase) const;
  uint64_t panelBytes() const;
  uint64_t thinBytes() const;
  int64_t thinDepth() const;
  uint64_t packedBytes() const;
  void pack(const Step &step, int64_t part, const ProductOperands &operands, char *panels, char *own) const;
  void packA(const void *a, int64_t row, int64_t rows, const Range &k, char *panels, char *stage) const;
  void multiply(const Step &step, int64_t part, const ProductOperands &operands, char *shared, char *own) const;
  void multiplyStrip(const Strip &strip) const;
  void multiplyPass(const Strip &strip, const Pass &pass, char *sums) const;
  inline void multiplyTile(const Pass &pass, int64_t panel, char *tile, int64_t stride) const;
  void multiplyEdge(const Strip &strip, const Pass &pass, int64_t panel, int64_t column, int usedColumns) const;
  void runThin(int64_t part, const ProductOperands &operands, char *own) const;
  TileRows rowsOf(int64_t row, int usedRows) const;
  void finish(const ProductTarget &target, const char *sums, const TileRows &rows, int64_t column, int usedRows, int usedColumns) const;
  void finishRow(const Strip &strip, const TileRows &rows, int usedRows, const char *sums) const;

  ProductShape shape;
  bool thin;
  const TileKernels &kernels;
  int64_t tileBytes;
  /// True if the sums need no further operation: C itself carries them from one block of k to the next.
  bool inC;
  /// True if sums that still need an operation are kept between blocks of k, in memory that the parts share.
  bool carried = false;
  /// A step is a block of k of some columns of some rows of C; A is packed in blocks of rows of a part, and a strip of B's panels fits the
  /// second-level cache.
  int64_t stepRows = 0, stepColumns = 0, blockK = 0, blockRows = 0, stripColumns = 0, passK = 0, steps = 0;
  int64_t partRows = 1, partColumns = 1, packParts = 1;
  InPlace inPlace = InPlace::Neither;
};

} // namespace npar::engine
