// Names of byte tokens, as SentencePiece writes them.
#include "engine/text/WordModel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace npar::engine {

std::string ByteTokens::nameOf(uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "<0x%02X>", static_cast<unsigned>(byte));
  return text;
}

int ByteTokens::byteOf(std::string_view name) {
  bool is = name.size() == 6 && name.substr(0, 3) == "<0x" && name[5] == '>' && name.find_first_not_of("0123456789ABCDEF", 3) == 5;
  return is ? static_cast<int>(std::strtol(std::string(name.substr(3, 2)).c_str(), nullptr, 16)) : -1;
}

ByteTokens::ByteTokens(const Vocabulary &vocabulary) {
  for (size_t byte = 0; byte < 256; ++byte)
    ids[byte] = vocabulary.find(nameOf(static_cast<uint8_t>(byte)));
}

bool ByteTokens::complete() const { return std::find(std::begin(ids), std::end(ids), -1) == std::end(ids); }

} // namespace npar::engine
