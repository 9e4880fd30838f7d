// The part of a variable or an input that a rank holds: cut along dimensions, or divided into flat shares of whole blocks.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// Elements of a block, the unit of flat shares (Piece.flat_axes).
constexpr uint64_t flatBlock = 1024;

/// Elements that each of `ranks` ranks holds of a row-major piece of `elements`: whole blocks, the same number for each rank, so the last
/// ranks may hold padding.
uint64_t flatShare(uint64_t elements, uint64_t ranks);

/// First element of slice `index` (0 to `slices`) of an all_reduce, in which each of `slices` members adds up one slice; also the end of
/// the slice before. Slices begin at whole vectors of the processor; only the last end need not.
uint64_t sliceBegin(uint64_t elements, uint64_t slices, uint64_t index);

/// The member number of a rank with these coordinates along `dimension`: row-major over the mesh axes that split it.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Piece &piece, const PieceDimension &dimension);
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const Input &input, const PieceDimension &dimension);

/// Elements that a rank holds of an input, or of a result, in one micro-batch.
uint64_t elementsOf(const Input &input);
uint64_t elementsOf(const ResultBuffer &result);

} // namespace npar::program
