// Four characters are three bytes.
#include "engine/text/Base64.h"

#include <cstdint>

namespace npar::engine {

std::optional<std::string> bytesOfBase64(std::string_view text) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=')
    ++padding;
  if (text.size() % 4 != 0)
    return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    uint32_t bits = 0;
    for (size_t i = at; i < at + 4; ++i) {
      size_t value = i + padding >= text.size() ? 0 : alphabet.find(text[i]);
      if (value == std::string_view::npos)
        return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    for (unsigned shift : {16, 8, 0})
      bytes += static_cast<char>(bits >> shift);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

} // namespace npar::engine
