// Computes shares of flat pieces and the members that hold them.
#include "engine/program/Pieces.h"

#include "engine/program/Ranks.h"

namespace npar::program {

uint64_t flatShare(uint64_t elements, uint64_t ranks) {
  uint64_t blocks = (elements + flatBlock - 1) / flatBlock;
  return (blocks + ranks - 1) / ranks * flatBlock;
}

uint64_t sliceBegin(uint64_t elements, uint64_t slices, uint64_t index) {
  constexpr uint64_t vectors = 64; // elements: 256 bytes of float32, 128 of bfloat16
  return index == slices ? elements : elements / slices * index / vectors * vectors;
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece, const PieceDimension &dimension) {
  return memberAlong(program, coordinates, *piece.mesh_axes(), dimension.first_axis(), dimension.axis_count());
}

int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Input &input, const PieceDimension &dimension) {
  return memberAlong(program, coordinates, *input.mesh_axes(), dimension.first_axis(), dimension.axis_count());
}

static uint64_t elementsOf(const flatbuffers::Vector<const PieceDimension *> &dimensions) {
  uint64_t elements = 1;
  for (const PieceDimension *dimension : dimensions)
    elements *= static_cast<uint64_t>(dimension->local());
  return elements;
}

uint64_t elementsOf(const Input &input) { return elementsOf(*input.dimensions()); }
uint64_t elementsOf(const ResultBuffer &result) { return elementsOf(*result.dimensions()); }

} // namespace npar::program
