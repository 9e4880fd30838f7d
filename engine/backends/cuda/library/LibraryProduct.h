// Matrix products as cuBLASLt is asked for them: its own descriptions of a shape, and calls for the pieces of it.
#pragma once

#include "engine/backends/cuda/library/CublasLt.h"
#include "engine/backends/cuda/library/LibraryShape.h"
#include "engine/backends/cuda/library/RowCopies.h"

#include <memory>
#include <vector>

namespace npar::engine::cuda {

/// The library's descriptions of a shape. The library knows matrices by columns, so it computes the transposed C from B and A.
class LibraryProduct {
public:
  /// `library`: a handle that outlives this, as `copies` do.
  static Result<std::unique_ptr<LibraryProduct>> make(const CublasLt &lt, Handle library, const LibraryShape &shape,
                                                      const RowCopies &copies, const CopyLimits &limits = {});
  LibraryProduct(const LibraryProduct &) = delete;

  /// One line that no other shape has, and no other way to multiply it.
  std::string words() const;
  /// Bytes of each workspace that copies use, and the most that any algorithm uses in all.
  uint64_t copiedBytes() const { return pieces ? pieces->bytes() : 0; }
  /// Algorithms that add in one sequence, in the library's order; none where it has none. Of their workspaces, copies have the beginning.
  Result<std::vector<LtCandidate>> candidates(uint64_t workspaceBytes) const;
  /// Returns true if the library still accepts the algorithm for this shape with this workspace.
  bool takes(const LtAlgorithm &algorithm, uint64_t workspaceBytes) const;
  /// ExecutionFailed where copies do not start.
  LtCode start(const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c, DevicePointer workspace,
               uint64_t workspaceBytes, Handle stream) const;
  const LibraryShape shape;

private:
  /// The descriptors of one call.
  struct Described {
    Described(const CublasLt &lt, const LibraryShape &shape) : lt(lt), shape(shape) {}
    ~Described();
    Described(const Described &) = delete;
    Status describe();
    Status describe(Handle &layout, program::ElementType type, int64_t rows, int64_t columns, const LibraryShape::Matrix &matrix);
    const CublasLt &lt;
    const LibraryShape shape;
    Handle product = nullptr, a = nullptr, b = nullptr, c = nullptr;
  };
  LibraryProduct(const CublasLt &lt, Handle library, const LibraryShape &shape, const RowCopies &copies, const CopyLimits &limits);
  bool takes(const Described &call, const LtAlgorithm &algorithm, uint64_t workspaceBytes) const;
  LtCode multiply(const Described &call, const LtAlgorithm &algorithm, DevicePointer a, DevicePointer b, DevicePointer c,
                  DevicePointer workspace, uint64_t workspaceBytes, Handle stream) const;

  const CublasLt &lt;
  Handle library;
  const RowCopies &copies;
  std::optional<CopiedPieces> pieces;
  std::unique_ptr<Described> whole, last; ///< `last` is null if all pieces have the same size
};

} // namespace npar::engine::cuda
