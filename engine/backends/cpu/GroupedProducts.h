// A product whose rows belong to groups, each with a matrix of its own: how many rows a group has is known when it runs.
#pragma once

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/RowWindow.h"
#include "engine/backends/cpu/WorkerScratch.h"
#include "engine/device/Backend.h"
#include "engine/product/Product.h"

#include <optional>

namespace npar::engine {

/// Ranges of rows, [samples, groups] each: group g has the rows [first, last) of a sample.
struct RowRanges {
  const int32_t *first, *last;
};

/// A program::Matmul with `grouping`. It is planned for the most rows that a group can have, so its scratch is known before it runs. Short
/// ranges of a group in several samples are copied next to each other, so that one product computes them.
class GroupedProduct {
public:
  /// `loops`: over [samples, groups], of A, B and C.
  GroupedProduct(const program::Matmul &matmul, const ProductShape &shape, BatchLoops loops, const Spread &spread, InstructionSet set);
  /// Bytes of a worker's scratch.
  uint64_t scratchBytes() const;
  void run(const void *a, const void *b, RowRanges ranges, void *c, WorkerScratch &scratch) const;

private:
  struct Call;
  struct Group;
  struct Range {
    int64_t begin, end;
    int64_t count() const { return end - begin; }
  };
  uint64_t productBytes() const;
  uint64_t windowBytes() const;
  Range rangeOf(const RowRanges &ranges, int64_t sample, int64_t group) const;
  int64_t rowsOf(const RowRanges &ranges, int64_t group) const;
  void zero(uint8_t *c, int64_t count) const;
  void clearOthers(const Call &call) const;
  ProductOperands operandsOf(const Group &group, int64_t sample, int64_t row) const;
  void runGroup(const Call &call, int64_t number, bool spreads) const;
  void runPhases(const Group &group, const Product &part, int64_t first, int64_t end, const ProductOperands &operands) const;
  void multiplyRows(const Group &group) const;
  int64_t inPlace(int64_t count) const;
  int64_t restOf(const Group &group, int64_t sample) const;
  bool multiplyInPlace(const Group &group) const;
  bool multiplyRests(const Group &group, int64_t begin, int64_t end, bool isPacked) const;
  void addRows(const Group &group) const;
  bool addInOne(const Group &group, int64_t begin, int64_t end, bool begun) const;
  int64_t filled(int64_t count) const;
  void accumulate(const Group &group) const;

  program::Grouping grouping;
  BatchLoops loops;
  int64_t samples, groups, rows; ///< `rows`: of a sample
  /// Bytes from one row to the next in A, B and C; 0 where the operand has no such rows.
  int64_t aRow, bRow, cRow;
  int64_t aAcross;                ///< from what one row of C is made of to that of the next
  int64_t cRows, cStride, cWidth; ///< rows of C for a sample or group; bytes from row to row, and in a row
  int64_t bandRows;               ///< rows of C that are summed at once
  int threads;
  bool accumulates, isWide; ///< adds its sums, of float64, to C
  bool isSmall;             ///< handing a part to another worker costs more than it saves
  RowWindow window;
  Product whole, spread;      ///< one worker computes a group's product, or all of them do
  std::optional<Product> few; ///< for groups of few rows in all, whose matrix is not packed
};

} // namespace npar::engine
