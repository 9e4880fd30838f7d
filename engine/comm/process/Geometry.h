// Computes the bytes that move between members in a collective or a transfer, and the bytes that are added up.
#pragma once

#include "engine/comm/process/Groups.h"
#include "engine/comm/process/Region.h"

namespace npar::engine {

/// Some bytes of one part of an operation (parts are those of a bucket; otherwise part 0). Members are numbers in the group.
struct Block {
  uint32_t part = 0;
  uint32_t source = 0;           ///< member whose input it is; unused in a sum, to which every member contributes
  std::vector<uint32_t> targets; ///< members whose outputs get it, at the same place in each
  Region from, to;               ///< regions of equal size
};

/// Bytes of a member's output that are neither moved nor added: zeros.
struct Padding {
  uint32_t part = 0, target = 0;
  uint64_t begin = 0, bytes = 0;
};

/// True if members' values are added up.
bool addsUp(const Operation &operation);

/// The blocks that members of one party send to those of another, or of the same party, in an operation that only moves data. A block with
/// several targets is listed once. `operation` is any member's part, with all parts of a bucket.
std::vector<Block> movedBlocks(const Operation &operation, const Group &group, size_t fromParty, size_t toParty);

/// The bytes whose sums a party computes in an operation that adds up, and for which of its members. In a reduce_scatter those are its
/// members' results; in an all_reduce every party has a slice of the elements, which it then sends to the others.
std::vector<Block> sumsOf(const Operation &operation, const Group &group, size_t party);

/// Padding of all members of the party.
std::vector<Padding> paddingOf(const Operation &operation, const Group &group, size_t party);

} // namespace npar::engine
