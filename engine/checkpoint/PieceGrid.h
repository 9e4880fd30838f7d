// Finds the piece of a stored tensor that has an element. Pieces are ranges of the rectangles of a grid.
#pragma once

#include "engine/checkpoint/Manifest.h"

namespace npar::engine {

/// Finds by arithmetic and binary search, whatever the number of pieces. The tensor is one that a manifest may have (`wrongPieces`), and
/// outlives the grid.
class PieceGrid {
public:
  explicit PieceGrid(const ManifestTensor &tensor);

  struct Found {
    const ManifestPiece *piece = nullptr;
    uint64_t first = 0; ///< of the piece's elements
    uint64_t count = 0; ///< from there on follow each other both in the tensor and in the piece
  };
  const ManifestTensor &of() const { return tensor; }
  /// Finds the row-major element `element` of the tensor.
  Found find(uint64_t element) const;

private:
  const ManifestTensor &tensor;
  std::vector<std::vector<int64_t>> cuts; ///< by dimension: where rectangles begin
  std::vector<uint64_t> strides;          ///< of the tensor
  std::vector<size_t> rectangles;         ///< the first piece of each, row-major over the grid; then the number of pieces
};

} // namespace npar::engine
