// A part of a member's buffer: runs of bytes at regular distances, which are contiguous in a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace npar::engine {

struct RegionLoop {
  uint64_t count = 1, stride = 0;
};

/// Three loops around a run: for i, j, k: `run` bytes at base + i * stride + ... A message has them in this order.
class Region {
public:
  using Loops = std::array<RegionLoop, 3>; ///< the outermost first

  Region() = default;
  /// Neighbours are joined into longer runs.
  Region(uint64_t base, uint64_t run, Loops loops = {});

  uint64_t bytes() const { return run * loops[0].count * loops[1].count * loops[2].count; }
  /// Calls take(offset in the buffer, offset in the region, length) for each run of the region's bytes [begin, end).
  template <typename Take> void each(uint64_t begin, uint64_t end, Take take) const {
    while (begin < end) {
      uint64_t length = std::min(run - begin % run, end - begin);
      take(placeOf(begin), begin, length);
      begin += length;
    }
  }
  /// Offset in the buffer of a byte of the region.
  uint64_t placeOf(uint64_t offset) const;
  /// True if the bytes [begin, end) are contiguous in the buffer.
  bool isOneRun(uint64_t begin, uint64_t end) const { return begin == end || begin / run == (end - 1) / run; }

private:
  uint64_t base = 0, run = 0;
  Loops loops;
};

} // namespace npar::engine
