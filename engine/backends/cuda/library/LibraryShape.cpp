// Shapes of products as libraries know them, and pieces of those whose rows begin at odd places.
#include "engine/backends/cuda/library/LibraryShape.h"

#include "engine/program/Elements.h"
#include "engine/program/Words.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {
constexpr int64_t copiedTo = 128, liked = 16, apart = 256; ///< bytes: rows begin at multiples of the first two, matrices of the third

int64_t roundedUp(int64_t number, int64_t to) { return (number + to - 1) / to * to; }

/// Returns the matrix with lines of `inLine` elements that begin at aligned addresses.
LibraryShape::Matrix copied(const LibraryShape::Matrix &matrix, int64_t inLine, int64_t bytes) {
  return {matrix.turned, roundedUp(inLine, copiedTo / bytes), 0, copiedTo};
}

std::optional<LibraryShape::Matrix> matrixOf(int64_t rows, int64_t columns, int64_t row, int64_t column, uint32_t alignment) {
  if (column == 1 && (row >= columns || rows == 1))
    return LibraryShape::Matrix{false, std::max(row, columns), 0, alignment};
  if (row == 1 && (column >= rows || columns == 1))
    return LibraryShape::Matrix{true, std::max(column, rows), 0, alignment};
  return std::nullopt;
}
} // namespace

std::string LibraryShape::words() const {
  auto number = [](int64_t value) { return " " + std::to_string(value); };
  std::string text =
      std::string(tf32 ? "tf32" : program::wordOf(type)) + " " + program::wordOf(result) + (accumulate ? " added" : " stored");
  text += number(m) + number(n) + number(k) + number(count);
  for (const Matrix *matrix : {&a, &b, &c})
    text += (matrix->turned ? " turned" : " rows") + number(matrix->leading) + number(matrix->stride) + number(matrix->alignment);
  return text;
}

int64_t LibraryShape::span(const Matrix &matrix, int64_t rows, int64_t columns) const {
  int64_t lines = matrix.turned ? columns : rows, inLine = matrix.turned ? rows : columns;
  return (count - 1) * matrix.stride + (lines - 1) * matrix.leading + inLine;
}

std::optional<LibraryShape> libraryShape(const program::Matmul &p, const std::array<uint32_t, 3> &alignments) {
  std::optional<LibraryShape::Matrix> a = matrixOf(p.m(), p.k(), p.a_row(), p.a_column(), alignments[0]),
                                      b = matrixOf(p.k(), p.n(), p.b_row(), p.b_column(), alignments[1]),
                                      c = matrixOf(p.m(), p.n(), p.c_row(), 1, alignments[2]);
  if (!a || !b || !c || c->turned)
    return std::nullopt;
  return LibraryShape{p.type(), p.result(), p.accumulate(), p.tf32(), p.m(), p.n(), p.k(), 1, *a, *b, *c};
}

std::optional<CopiedPieces> copiedPieces(const LibraryShape &s, const CopyLimits &limits) {
  auto bytes = static_cast<int64_t>(program::sizeOf(s.type)), resultBytes = static_cast<int64_t>(program::sizeOf(s.result));
  auto isOdd = [](const LibraryShape::Matrix &matrix, int64_t each) {
    return matrix.leading * each % liked != 0 || matrix.alignment % liked != 0;
  };
  CopiedPieces p{isOdd(s.a, bytes), isOdd(s.b, bytes), isOdd(s.c, resultBytes), 0, s, s, 0, 0, 0};
  bool isWorthIt = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) >= limits.least;
  if (s.count != 1 || !(program::isNarrow(s.type) || s.tf32) || !isWorthIt || !(p.a || p.b || p.c))
    return std::nullopt;
  if (p.c) {
    p.whole.c = copied(s.c, s.n, resultBytes);
    p.whole.n = p.whole.c.leading;
    p.b = p.b || p.whole.n != s.n;
  }
  if (p.b)
    p.whole.b = copied(s.b, s.b.turned ? s.k : p.whole.n, bytes);
  p.bytesOfB = p.b ? static_cast<uint64_t>(roundedUp(p.whole.b.leading * (s.b.turned ? p.whole.n : s.k) * bytes, apart)) : 0;
  // A turned one has a line for each of k, as long as a piece has rows; the others a line for each row.
  int64_t ofRow = (p.a ? (s.a.turned ? s.k : roundedUp(s.k, copiedTo / bytes)) * bytes : 0) +
                  (p.c ? roundedUp(s.n, copiedTo / resultBytes) * resultBytes : 0);
  constexpr int64_t step = copiedTo; // rows: keeps lines of turned pieces even for every type
  auto left = static_cast<int64_t>(limits.bytes) - static_cast<int64_t>(p.bytesOfB);
  int64_t most = ofRow > 0 ? left / ofRow / step * step : s.m;
  if (left < 0 || most < 1)
    return std::nullopt;
  int64_t count = (s.m + most - 1) / most;
  p.rows = ofRow > 0 ? roundedUp((s.m + count - 1) / count, step) : s.m;
  p.whole.m = std::min(p.rows, s.m);
  if (p.a)
    p.whole.a = copied(s.a, s.a.turned ? p.rows : s.k, bytes);
  p.bytesOfA = p.a ? static_cast<uint64_t>(roundedUp(p.whole.a.leading * (s.a.turned ? s.k : p.rows) * bytes, apart)) : 0;
  p.bytesOfC = p.c ? static_cast<uint64_t>(roundedUp(p.whole.c.leading * p.rows * resultBytes, apart)) : 0;
  p.last = p.whole;
  p.last.m = s.m - (s.m - 1) / p.rows * p.rows;
  return p;
}

} // namespace npar::engine::cuda
