// Walks through the fields of a protocol buffer message, which is not trusted.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace npar::engine {

/// The fields of a message, one after the other.
class Message {
public:
  explicit Message(std::string_view bytes) : rest(bytes) {}
  bool damaged = false;
  uint32_t field = 0;
  uint64_t number = 0;    ///< value of a numeric field
  float real = 0;         ///< value of a field of 32 bits
  std::string_view bytes; ///< contents of a length-delimited field

  /// False at the end, or if the message is damaged.
  bool next() {
    if (rest.empty() || damaged)
      return false;
    uint64_t key = varint();
    field = static_cast<uint32_t>(key >> 3);
    bytes = {};
    switch (key & 7) {
    case 0:
      number = varint();
      break;
    case 1:
      take(8);
      break;
    case 2:
      bytes = take(varint());
      break;
    case 5:
      if (std::string_view four = take(4); !damaged)
        std::memcpy(&real, four.data(), sizeof(real));
      break;
    default:
      damaged = true;
    }
    return !damaged;
  }

private:
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      uint8_t byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
      if (!(byte & 0x80))
        return value;
    }
    damaged = true;
    return 0;
  }
  std::string_view take(uint64_t size) {
    if (size > rest.size()) {
      damaged = true;
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  std::string_view rest;
};

} // namespace npar::engine
