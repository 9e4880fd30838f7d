// Which part of a variable or an input a rank holds: cut along dimensions, or dealt out in flat shares of whole blocks.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// Elements of a block, the unit in which flat pieces are dealt out (Piece.flat_axes).
constexpr uint64_t flatBlock = 1024;

/// Elements that each of `ranks` ranks holds of a row-major piece of `elements`: whole blocks, equally many for each rank, so that the
/// last ranks may hold padding.
uint64_t flatShare(uint64_t elements, uint64_t ranks);

/// Where the slice of `elements` that one of `slices` members adds up in an all_reduce begins, and that of the one before it ends: at whole
/// vectors of the processor, but for the last end. `index` is 0 to `slices`.
uint64_t sliceBegin(uint64_t elements, uint64_t slices, uint64_t index);

/// The number, row-major over the mesh axes that split `dimension`, that a rank with these coordinates has among the ranks along them.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece, const PieceDimension &dimension);
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Input &input, const PieceDimension &dimension);

/// Elements that a rank holds of an input, or of a result, in one micro-batch.
uint64_t elementsOf(const Input &input);
uint64_t elementsOf(const ResultBuffer &result);

} // namespace npar::program
