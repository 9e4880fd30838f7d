// Which bytes of which member go to which other one in a collective or a transfer, and which bytes are added where.
#pragma once

#include "engine/comm/process/Groups.h"
#include "engine/comm/process/Region.h"

namespace npar::engine {

/// Some bytes of one part of an operation (of a bucket; else part 0). Members are given by their number in the group.
struct Block {
  uint32_t part = 0;
  uint32_t source = 0;           ///< whose input it is; of a sum: nobody's, every member has it
  std::vector<uint32_t> targets; ///< in whose outputs it goes, at the same place in each
  Region from, to;               ///< of equal size
};

/// Bytes of a member's output that are neither moved nor added: zeros.
struct Padding {
  uint32_t part = 0, target = 0;
  uint64_t begin = 0, bytes = 0;
};

/// Whether members' values are added up.
bool addsUp(const Operation &operation);

/// Of an operation that moves only: what members of one party give to those of another, or of the same. A block that several targets get is
/// listed once. `operation` is any member's part, with all parts of a bucket.
std::vector<Block> movedBlocks(const Operation &operation, const Group &group, size_t fromParty, size_t toParty);

/// Of an operation that adds up: the bytes whose sums a party computes, and for which of its members. In a reduce_scatter those are its
/// members' results; in an all_reduce every party has a slice of the elements, which it then sends to the others.
std::vector<Block> sumsOf(const Operation &operation, const Group &group, size_t party);

/// Of all members of the party.
std::vector<Padding> paddingOf(const Operation &operation, const Group &group, size_t party);

} // namespace npar::engine
