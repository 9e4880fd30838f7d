// A product whose rows belong to groups, each with a matrix of its own: how many rows a group has is known when it runs.
#pragma once

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cpu/WorkerScratch.h"
#include "engine/device/Backend.h"
#include "engine/product/Product.h"

namespace npar::engine {

/// Ranges of rows, [samples, groups] each: group g has the rows [first, last) of a sample.
struct RowRanges {
  const int32_t *first, *last;
};

/// A program::Matmul with `grouping`. It is planned for the most rows that a group can have, so its scratch is known before it runs.
class GroupedProduct {
public:
  /// `loops`: over [samples, groups], of A, B and C.
  GroupedProduct(const program::Matmul &matmul, const ProductShape &shape, BatchLoops loops, const Spread &spread, InstructionSet set);
  /// Bytes of a worker's scratch.
  uint64_t scratchBytes() const;
  void run(const void *a, const void *b, RowRanges ranges, void *c, WorkerScratch &scratch) const;

private:
  struct Call;
  struct Range {
    int64_t begin, end;
  };
  Range rangeOf(const RowRanges &ranges, int64_t sample, int64_t group) const;
  bool spreadsGroups(const RowRanges &ranges) const;
  void clear(const RowRanges &ranges, void *c) const;
  template <typename ForEach> void runGroup(const Call &call, const Product &product, int64_t group, ForEach &&forEach) const;

  program::Grouping grouping;
  BatchLoops loops;
  int64_t samples, groups, rows; ///< `rows`: of a sample
  /// Bytes from one row to the next in A, B and C; 0 where the operand has no such rows.
  int64_t aRow, bRow, cRow;
  int64_t cRows, cStride, cWidth; ///< rows of C for a sample or group; bytes from row to row, and in a row
  int threads;
  bool isSmall;          ///< handing a part to another worker costs more than it saves
  Product whole, spread; ///< one worker computes a group's product, or all of them do
};

} // namespace npar::engine
