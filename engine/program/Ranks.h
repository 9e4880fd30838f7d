// Ranks and their coordinates: a rank is the row-major number of its mesh coordinates, the last axis fastest.
#pragma once

#include "engine/program/Program_generated.h"

#include <cstdint>
#include <vector>

namespace npar::program {

/// Number of ranks.
int64_t worldOf(const Program &program);

/// A rank's coordinate on each mesh axis.
std::vector<int64_t> coordinatesOf(const Program &program, int64_t rank);

/// The rank that has these coordinates.
int64_t rankAt(const Program &program, const std::vector<int64_t> &coordinates);

/// Number of ranks along mesh axes: the product of the axes' sizes.
uint64_t ranksAlong(const Program &program, const flatbuffers::Vector<uint32_t> &axes);

/// The member number of a rank with these coordinates in its group along `axes`: row-major over them.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes);

/// The same over `count` of the axes, from the one at index `first`.
int64_t memberAlong(const Program &program, const std::vector<int64_t> &coordinates, const flatbuffers::Vector<uint32_t> &axes,
                    uint32_t first, uint32_t count);

/// The ranks of a collective's group that `rank` belongs to, in member order (row-major over `axes`).
std::vector<int64_t> groupOf(const Program &program, const Collective &collective, int64_t rank);

} // namespace npar::program
