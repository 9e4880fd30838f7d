// A kind of matrix product as a library is asked for it, and how it is cut where its matrices have to be copied first.
#pragma once

#include "engine/program/Program_generated.h"

#include <array>
#include <optional>
#include <string>

namespace npar::engine::cuda {

/// C (+)= A B, `count` times with a stride for each matrix; all that a choice among algorithms depends on but device and version.
struct LibraryShape {
  /// The layout of a matrix. Strides are in elements, alignments in bytes. If `turned`, the elements of a column are neighbours, otherwise
  /// those of a row.
  struct Matrix {
    bool turned = false;
    int64_t leading = 0, stride = 0;
    uint32_t alignment = 0;
  };
  program::ElementType type, result;
  bool accumulate, tf32; ///< tf32: operands of F32 may be rounded to TF32
  int64_t m, n, k, count = 1;
  Matrix a, b, c;

  /// One line that no other shape has.
  std::string words() const;
  /// Number of elements from a matrix's first to its last, over all of `count`.
  int64_t spanOfA() const { return span(a, m, k); }
  int64_t spanOfB() const { return span(b, k, n); }
  int64_t spanOfC() const { return span(c, m, n); }

private:
  int64_t span(const Matrix &matrix, int64_t rows, int64_t columns) const;
};

/// Elements of a product as the library takes them. Nothing where it does not: neither rows nor columns are contiguous, or they overlap.
std::optional<LibraryShape> libraryShape(const program::Matmul &product, const std::array<uint32_t, 3> &alignments);

/// The limits of what copies of matrices may cost, and the sizes from which they pay off.
struct CopyLimits {
  uint64_t bytes = uint64_t{320} << 20; ///< of memory in addition to the operands
  double least = 0x1p27;                ///< of products of numbers
};

/// Cuts a product into pieces of C's rows and copies their matrices to memory where rows begin at multiples of 128 bytes. If rows begin at
/// odd addresses, as those of a vocabulary of 50,257 in 16 bits do, the library is several times slower or has no algorithm. The same is
/// true of such a number of C's columns. The copy of C therefore has as many columns as its rows are long, and that of B gets columns of
/// zeros.
struct CopiedPieces {
  bool a, b, c;             ///< which are copied
  int64_t rows;             ///< of a piece
  LibraryShape whole, last; ///< last: of what is left, or the same
  uint64_t bytesOfA, bytesOfB, bytesOfC;
  uint64_t bytes() const { return bytesOfA + bytesOfB + bytesOfC; }
};
/// Returns nothing if the library is fast with the matrices as they are, or if copies do not pay off.
std::optional<CopiedPieces> copiedPieces(const LibraryShape &shape, const CopyLimits &limits);

} // namespace npar::engine::cuda
