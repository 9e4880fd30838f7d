// The sums of the stand-in's algorithms, on bytes.
#pragma once

#include "tests/engine/backends/standin/cublaslt/LtAbi.h"

namespace npar::standin::lt {

/// The order in which the k products of an element are added, and the type of their operands.
enum class Sums : uint32_t {
  Chain,     ///< one chain of fma in ascending k
  Parts,     ///< three of them, added: split-K
  Reversed,  ///< one in descending k
  Rotated,   ///< one that begins elsewhere each time
  Tf32,      ///< a chain of operands rounded to ten bits, ties to even
  Truncated, ///< a chain of operands that are cut off after ten bits
  Bf16,      ///< a chain of operands rounded to bf16
  Fp16,      ///< a chain of operands rounded to fp16
};

/// D = alpha op(A) op(B) + beta C for `count` matrices stored by columns, at distances of `stride`.
struct Problem {
  struct Matrix {
    Type type;
    int64_t leading, stride;
    bool transposed;
  };
  int64_t m, n, k, count;
  Matrix a, b, c;
  bool wide; ///< sums in float64, not in float32
  bool tf32; ///< operands are rounded to ten bits, ties away from zero, where the algorithm says nothing else
  double alpha = 1, beta = 0;

  /// Bytes from the first element to behind the last.
  uint64_t bytesOfA() const { return bytes(a, a.transposed ? k : m, a.transposed ? m : k); }
  uint64_t bytesOfB() const { return bytes(b, b.transposed ? n : k, b.transposed ? k : n); }
  uint64_t bytesOfC() const { return bytes(c, m, n); }

private:
  uint64_t bytes(const Matrix &matrix, int64_t rows, int64_t columns) const;
};

uint64_t sizeOf(Type type);

/// D may be C. `turn`: another number each time.
void multiply(const Problem &problem, Sums sums, uint64_t turn, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *d);

} // namespace npar::standin::lt
