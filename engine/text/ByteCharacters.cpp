// Builds the table by GPT-2's rule: printable bytes keep their number, the others are counted from 256.
#include "engine/text/ByteCharacters.h"

#include "engine/text/Utf8.h"

#include <array>

namespace npar::engine {
namespace {

constexpr char32_t firstOther = 256, mostOthers = 68;

bool keepsItsNumber(unsigned byte) { return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae; }

struct Table {
  std::array<char32_t, 256> characters;
  std::array<int, firstOther + mostOthers> bytes;
  std::array<std::string, 256> texts;
  Table() {
    bytes.fill(-1);
    char32_t other = firstOther;
    for (unsigned byte = 0; byte < 256; ++byte) {
      characters[byte] = keepsItsNumber(byte) ? byte : other++;
      bytes[characters[byte]] = static_cast<int>(byte);
      texts[byte] = utf8Of(characters[byte]);
    }
  }
};

const Table &table() {
  static const Table it;
  return it;
}

} // namespace

std::string_view characterOfByte(uint8_t byte) { return table().texts[byte]; }

std::optional<std::string> bytesOfCharacters(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    std::optional<char32_t> character = characterAt(token, at);
    if (!character || *character >= table().bytes.size() || table().bytes[*character] < 0)
      return std::nullopt;
    bytes += static_cast<char>(table().bytes[*character]);
  }
  return bytes;
}

} // namespace npar::engine
