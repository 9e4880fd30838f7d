// A kind of matrix product as cuBLASLt is asked for it: what it must know, and the library's own descriptions of it.
#pragma once

#include "engine/backends/cuda/CublasLt.h"
#include "engine/program/Program_generated.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

/// The library's descriptions of a shape. The library knows matrices by columns, so it computes the transposed C from B and A.
class LibraryProduct {
public:
  /// `library`: a handle that outlives this.
  static Result<std::unique_ptr<LibraryProduct>> make(const CublasLt &lt, Handle library, const LibraryShape &shape);
  ~LibraryProduct();
  LibraryProduct(const LibraryProduct &) = delete;

  /// Algorithms that add in one sequence, in the library's order; none where it has none.
  Result<std::vector<LtCandidate>> candidates(uint64_t workspaceBytes) const;
  /// Whether the library still takes an algorithm for this shape within so much workspace.
  bool takes(const LtAlgorithm &algorithm, uint64_t workspaceBytes) const;
  LtCode start(const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c, DevicePointer workspace,
               uint64_t workspaceBytes, Handle stream) const;
  const LibraryShape shape;

private:
  LibraryProduct(const CublasLt &lt, Handle library, const LibraryShape &shape) : shape(shape), lt(lt), library(library) {}
  Status describe();
  Status describe(Handle &layout, program::ElementType type, int64_t rows, int64_t columns, const LibraryShape::Matrix &matrix);

  const CublasLt &lt;
  Handle library, product = nullptr, layoutOfA = nullptr, layoutOfB = nullptr, layoutOfC = nullptr;
};

} // namespace npar::engine::cuda
