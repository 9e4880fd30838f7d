// Sets of characters, with a constant-time test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace npar::engine {

class CharacterSet {
public:
  using Range = std::pair<char32_t, char32_t>; ///< first and last
  explicit CharacterSet(std::vector<Range> ranges);
  bool contains(char32_t c) const { return c < limit && blocks[pages[c >> 8]][c >> 6 & 3] >> (c & 63) & 1; }
  const std::vector<Range> &ranges() const { return members; }

private:
  static constexpr char32_t limit = 0x110000;
  using Block = std::array<uint64_t, 4>;
  std::vector<Range> members;
  std::vector<uint16_t> pages;
  std::vector<Block> blocks; ///< of 256 characters; the first is empty
};

} // namespace npar::engine
