// The bytes that move between members in a collective or a transfer, and the bytes that are added up.
#pragma once

#include "engine/comm/process/Groups.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace npar::engine {

struct RegionLoop {
  uint64_t count = 1, stride = 0;
};

/// The ends of a region's runs, in bytes of the region, where only the first bytes of a run exist.
using RunEnds = std::vector<uint64_t>;

/// A part of a member's buffer, contiguous in a message. Loops around a run: for i, j, k, l: `run` bytes at base + i * stride + ... A
/// message has them in this order.
class Region {
public:
  using Loops = std::array<RegionLoop, 4>; ///< the outermost first

  Region() = default;
  /// Neighbours are joined into longer runs. `ends`: for each run, which are not joined then; may change later.
  Region(uint64_t base, uint64_t run, Loops loops = {}, std::shared_ptr<const RunEnds> ends = nullptr);

  uint64_t bytes() const { return ends ? ends->back() : run * runs(); }
  /// Calls take(offset in the buffer, offset in the region, length) for each run of the region's bytes [begin, end).
  template <typename Take> void each(uint64_t begin, uint64_t end, Take take) const {
    while (begin < end) {
      uint64_t length = std::min(endOf(runOf(begin)), end) - begin;
      take(placeOf(begin), begin, length);
      begin += length;
    }
  }
  /// Calls take(offset in the buffer, length) for the end of each run that is not part of the region.
  template <typename Take> void eachGap(Take take) const {
    for (uint64_t number = 0; ends && number < runs(); ++number)
      if (uint64_t length = endOf(number) - beginOf(number); length < run)
        take(placeOfRun(number) + length, run - length);
  }
  /// Offset in the buffer of a byte of the region.
  uint64_t placeOf(uint64_t offset) const {
    uint64_t number = runOf(offset);
    return placeOfRun(number) + (offset - beginOf(number));
  }
  /// True if the bytes [begin, end) are contiguous in the buffer.
  bool isOneRun(uint64_t begin, uint64_t end) const { return begin == end || runOf(begin) == runOf(end - 1); }

private:
  uint64_t runs() const { return loops[0].count * loops[1].count * loops[2].count * loops[3].count; }
  uint64_t runOf(uint64_t offset) const {
    return ends ? static_cast<uint64_t>(std::upper_bound(ends->begin(), ends->end(), offset) - ends->begin()) : offset / run;
  }
  uint64_t beginOf(uint64_t number) const { return !ends ? number * run : number ? (*ends)[number - 1] : 0; }
  uint64_t endOf(uint64_t number) const { return ends ? (*ends)[number] : (number + 1) * run; }
  uint64_t placeOfRun(uint64_t number) const;

  uint64_t base = 0, run = 0;
  Loops loops;
  std::shared_ptr<const RunEnds> ends;
};

/// Some bytes of one part of an operation (parts are those of a bucket; otherwise part 0). Members are numbers in the group.
struct Block {
  uint32_t part = 0;
  uint32_t source = 0;           ///< member whose input it is; unused in a sum, to which every member contributes
  std::vector<uint32_t> targets; ///< members whose outputs get it, at the same place in each
  Region from, to;               ///< regions of equal size
  std::shared_ptr<RunEnds> rows; ///< of both, for rows in pieces (Operation::places); null: all rows move
};

/// Blocks one after the other as one row of bytes, which is cut into messages of equal size wherever that falls.
class Stream {
public:
  Stream() = default;
  explicit Stream(std::vector<Block> given);
  uint64_t bytes() const { return blocks.empty() ? 0 : ends.back(); }
  const std::vector<Block> &parts() const { return blocks; }
  /// Follows changes of the blocks' rows.
  void update();
  /// Calls take(block, begin, end, offset) for each block of the row's bytes [begin, end): its bytes from begin to end are at `offset` of
  /// what was asked for.
  template <typename Take> void each(uint64_t begin, uint64_t end, Take take) const {
    uint64_t offset = 0;
    for (size_t i = find(begin); begin < end; ++i) {
      uint64_t start = i > 0 ? ends[i - 1] : 0, last = std::min(end, ends[i]);
      if (last > begin)
        take(blocks[i], begin - start, last - start, offset);
      offset += last - begin;
      begin = last;
    }
  }

private:
  size_t find(uint64_t place) const;

  std::vector<Block> blocks; ///< none is empty, unless it has no rows at present
  std::vector<uint64_t> ends;
};

/// Bytes of a member's output that are neither moved nor added: zeros.
struct Padding {
  uint32_t part = 0, target = 0;
  uint64_t begin = 0, bytes = 0;
};

/// True if members' values are added up.
bool addsUp(const Operation &operation);

/// The blocks that members of one party send to those of another, or of the same party, in an operation that only moves data. A block with
/// several targets is listed once. `operation` is any member's part, with all parts of a bucket. `counted`: rows in pieces get ends, at
/// first as if all existed.
std::vector<Block> movedBlocks(const Operation &operation, const Group &group, size_t fromParty, size_t toParty, bool counted = false);

/// The bytes whose sums a party computes in an operation that adds up, and for which of its members. In a reduce_scatter those are its
/// members' results; in an all_reduce every party has a slice of the elements, which it then sends to the others.
std::vector<Block> sumsOf(const Operation &operation, const Group &group, size_t party);

/// Padding of all members of the party.
std::vector<Padding> paddingOf(const Operation &operation, const Group &group, size_t party);

} // namespace npar::engine
