// Blocks one after the other as one row of bytes.
#include "engine/comm/process/Stream.h"

#include <algorithm>

namespace npar::engine {

Stream::Stream(std::vector<Block> given) {
  for (Block &block : given) {
    uint64_t bytes = block.from.bytes();
    if (bytes == 0)
      continue;
    ends.push_back(this->bytes() + bytes);
    blocks.push_back(std::move(block));
  }
}

size_t Stream::find(uint64_t place) const { return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), place) - ends.begin()); }

} // namespace npar::engine
