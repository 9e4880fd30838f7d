// A kind of matrix product as a library is asked for it, and how it is cut where its matrices have to be copied first.
#pragma once

#include "engine/program/Program_generated.h"

#include <array>
#include <optional>
#include <string>

namespace npar::engine::cuda {

/// C (+)= A B, `count` times with a stride for each matrix; all that a choice among algorithms depends on but device and version.
struct LibraryShape {
  /// Where elements lie, in elements; `turned`: down a column they are neighbours, else along a row. Alignments in bytes.
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
  /// Elements from a matrix's first to behind its last, over all of `count`.
  int64_t spanOfA() const { return span(a, m, k); }
  int64_t spanOfB() const { return span(b, k, n); }
  int64_t spanOfC() const { return span(c, m, n); }

private:
  int64_t span(const Matrix &matrix, int64_t rows, int64_t columns) const;
};

/// Elements of a product as the library takes them. Nothing where it does not: neither rows nor columns are contiguous, or they overlap.
std::optional<LibraryShape> libraryShape(const program::Matmul &product, const std::array<uint32_t, 3> &alignments);

/// What copies of matrices may cost, and where they are worth it.
struct CopyLimits {
  uint64_t bytes = uint64_t{320} << 20; ///< of memory beside the operands
  double least = 0x1p27;                ///< of products of numbers
};

/// How a product is cut into pieces of C's rows, whose matrices are copied to where their rows begin at multiples of 128 bytes: with rows
/// that begin at odd places, as those of a vocabulary of 50,257 in 16 bits do, the library is several times slower, or has no algorithm. So
/// it is with so many columns of C: its copy has as many as its rows are long, and B's gets columns of zeros.
struct CopiedPieces {
  bool a, b, c;             ///< which are copied
  int64_t rows;             ///< of a piece
  LibraryShape whole, last; ///< last: of what is left, or the same
  uint64_t bytesOfA, bytesOfB, bytesOfC;
  uint64_t bytes() const { return bytesOfA + bytesOfB + bytesOfC; }
};
/// Nothing where the library likes the matrices as they lie, or copies are not worth it.
std::optional<CopiedPieces> copiedPieces(const LibraryShape &shape, const CopyLimits &limits);

} // namespace npar::engine::cuda
