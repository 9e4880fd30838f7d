// Memory for copies of a group's rows that are stored in several samples, so that one product computes them.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>

namespace npar::engine {

/// Rows of one operand: bytes of a row, and from one row to the next.
struct StoredRows {
  int64_t bytes = 0, stride = 0;

  /// Returns whether a row is contiguous and copies of rows take little more memory than the rows themselves.
  bool areCopied() const { return bytes > 0 && stride >= bytes && stride <= 2 * bytes; }
};

/// Copies of rows of two operands of a grouped product, with the operands' strides: of A and C (Rows), of A and B (Depth).
class RowWindow {
public:
  explicit RowWindow(const program::Matmul &matmul);
  /// Number of rows that it holds; 0: copying does not pay, or the rows of an operand are not contiguous.
  int64_t rows() const { return count; }
  uint64_t bytes() const { return static_cast<uint64_t>(count * (left.stride + right.stride)); }

  uint8_t *leftOf(uint8_t *memory) const { return memory; }
  uint8_t *rightOf(uint8_t *memory) const { return memory + count * left.stride; }
  /// Copies `rows` rows; the targets have the same strides.
  void copyLeft(uint8_t *to, const uint8_t *from, int64_t rows) const { copy(left, to, from, rows); }
  void copyRight(uint8_t *to, const uint8_t *from, int64_t rows) const { copy(right, to, from, rows); }
  void clear(uint8_t *left, uint8_t *right, int64_t rows) const;

private:
  static void copy(const StoredRows &of, uint8_t *to, const uint8_t *from, int64_t rows);

  StoredRows left, right;
  int64_t count = 0;
};

} // namespace npar::engine
