// Takes an element's number apart over the dimensions, and finds rectangle and range.
#include "engine/checkpoint/PieceGrid.h"

#include <algorithm>
#include <array>

namespace npar::engine {

PieceGrid::PieceGrid(const ManifestTensor &tensor) : tensor(tensor), cuts(tensor.shape.size()), strides(tensor.shape.size()) {
  uint64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= static_cast<uint64_t>(tensor.shape[d]);
    for (const ManifestPiece &piece : tensor.pieces)
      cuts[d].push_back(piece.start[d]);
    std::sort(cuts[d].begin(), cuts[d].end());
    cuts[d].erase(std::unique(cuts[d].begin(), cuts[d].end()), cuts[d].end());
  }
  for (size_t i = 0; i < tensor.pieces.size(); ++i)
    if (tensor.pieces[i].begin == 0)
      rectangles.push_back(i);
  rectangles.push_back(tensor.pieces.size());
}

PieceGrid::Found PieceGrid::find(uint64_t element) const {
  size_t dimensions = tensor.shape.size(), cell = 0;
  std::array<uint64_t, 64> at; // as many dimensions as a manifest allows
  for (size_t d = 0; d < dimensions; ++d) {
    at[d] = element / strides[d];
    element %= strides[d];
    auto next = std::upper_bound(cuts[d].begin(), cuts[d].end(), static_cast<int64_t>(at[d]));
    cell = cell * cuts[d].size() + static_cast<size_t>(next - cuts[d].begin() - 1);
  }
  const ManifestPiece *begin = &tensor.pieces[rectangles[cell]], *end = tensor.pieces.data() + rectangles[cell + 1];
  uint64_t inside = 0, volume = 1, row = 1; // row: elements that follow each other in rectangle and tensor
  bool together = true;
  for (size_t d = dimensions; d-- > 0;) {
    inside += (at[d] - static_cast<uint64_t>(begin->start[d])) * volume;
    volume *= static_cast<uint64_t>(begin->shape[d]);
    row = together ? volume : row;
    together = together && begin->shape[d] == tensor.shape[d];
  }
  const ManifestPiece *piece =
      std::upper_bound(begin, end, inside, [](uint64_t place, const ManifestPiece &each) { return place < each.end; });
  return {piece, inside - piece->begin, std::min(row - inside % row, piece->end - inside)};
}

} // namespace npar::engine
