// Converts numbers and texts to bytes and back. The bytes come from a network or a damaged file, so every length is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace npar::engine {

/// Appends little-endian values; this engine runs on little-endian machines only.
class ByteWriter {
public:
  template <typename T> void number(T value) {
    static_assert(std::is_arithmetic_v<T>, "numbers only");
    auto *begin = reinterpret_cast<const uint8_t *>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof(T));
  }
  /// Appends at most `limit` bytes of the text; a longer one is cut and ends with dots.
  void text(const std::string &text, size_t limit) {
    bool whole = text.size() <= limit;
    std::string kept = whole ? text : text.substr(0, limit - 3) + "...";
    number(static_cast<uint32_t>(kept.size()));
    bytes.insert(bytes.end(), kept.begin(), kept.end());
  }
  size_t size() const { return bytes.size(); }
  std::vector<uint8_t> take() { return std::move(bytes); }

private:
  std::vector<uint8_t> bytes;
};

/// Reads what ByteWriter wrote. After the first error everything reads as zero and `good` is false.
class ByteReader {
public:
  ByteReader(const uint8_t *bytes, size_t size) : at(bytes), left(size) {}
  template <typename T> T number() {
    T value{};
    if (take(sizeof(T)))
      std::memcpy(&value, at - sizeof(T), sizeof(T));
    return value;
  }
  bool flag() {
    auto value = number<uint8_t>();
    if (value > 1)
      fine = false;
    return value == 1;
  }
  std::string text(size_t limit) {
    uint32_t size = count(limit, 1);
    return take(size) ? std::string(reinterpret_cast<const char *>(at - size), size) : std::string();
  }
  /// The number of elements that follow, each of at least `bytesEach`; zero if it exceeds the limit or the remaining bytes.
  uint32_t count(size_t limit, size_t bytesEach) {
    auto value = number<uint32_t>();
    if (value <= limit && value * bytesEach <= left)
      return value;
    fine = false;
    return 0;
  }
  bool good() const { return fine; }
  /// True if everything was read without an error.
  bool ended() const { return fine && left == 0; }

private:
  bool take(size_t size) {
    if (!fine || size > left) {
      fine = false;
      return false;
    }
    at += size, left -= size;
    return true;
  }

  const uint8_t *at;
  size_t left;
  bool fine = true;
};

} // namespace npar::engine
