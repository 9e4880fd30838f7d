// Blocks of 256 bits, of which equal empty ones are one.
#include "engine/text/CharacterSet.h"

namespace npar::engine {

CharacterSet::CharacterSet(std::vector<Range> ranges) : members(std::move(ranges)), pages(limit >> 8), blocks(1) {
  for (auto [first, last] : members)
    for (char32_t c = first; c <= last; ++c) {
      uint16_t &page = pages[c >> 8];
      if (page == 0) {
        page = static_cast<uint16_t>(blocks.size());
        blocks.emplace_back();
      }
      blocks[page][c >> 6 & 3] |= uint64_t{1} << (c & 63);
    }
}

} // namespace npar::engine
