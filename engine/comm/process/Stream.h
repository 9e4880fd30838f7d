// Blocks one after the other as one row of bytes, which is cut into messages of equal size wherever that falls.
#pragma once

#include "engine/comm/process/Geometry.h"

namespace npar::engine {

class Stream {
public:
  Stream() = default;
  explicit Stream(std::vector<Block> given);
  uint64_t bytes() const { return blocks.empty() ? 0 : ends.back(); }
  /// Calls take(block, begin, end, offset) for each block of the row's bytes [begin, end): its bytes from begin to end are at `offset` of
  /// what was asked for.
  template <typename Take> void each(uint64_t begin, uint64_t end, Take take) const {
    uint64_t offset = 0;
    for (size_t i = find(begin); begin < end; ++i) {
      uint64_t start = i > 0 ? ends[i - 1] : 0, last = std::min(end, ends[i]);
      take(blocks[i], begin - start, last - start, offset);
      offset += last - begin;
      begin = last;
    }
  }

private:
  size_t find(uint64_t place) const;

  std::vector<Block> blocks; ///< none is empty
  std::vector<uint64_t> ends;
};

} // namespace npar::engine
