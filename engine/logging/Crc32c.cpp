// CRC-32C, a byte at a time by a table: a log has a hundred bytes per step.
#include "engine/logging/Crc32c.h"

#include <array>

namespace npar::engine {

uint32_t crc32c(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> entries{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t entry = i;
      for (int bit = 0; bit < 8; ++bit)
        entry = (entry >> 1) ^ (entry & 1 ? 0x82f63b78u : 0);
      entries[i] = entry;
    }
    return entries;
  }();
  uint32_t crc = ~0u;
  for (char byte : bytes)
    crc = table[(crc ^ static_cast<uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

} // namespace npar::engine
