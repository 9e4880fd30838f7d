// Escapes what a terminal would obey.
#include "engine/text/Quoted.h"

#include "engine/text/Tokenizer.h"
#include "engine/text/Utf8.h"

#include <cstdio>

namespace npar::engine {

std::string inQuotes(std::string_view text) {
  constexpr size_t most = 80;
  std::string_view shown = text.size() > most ? text.substr(0, wholeCharacters(text.substr(0, most))) : text;
  std::string out = "'";
  for (size_t at = 0; at < shown.size();) {
    size_t from = at;
    std::optional<char32_t> character = characterAt(shown, at);
    at += !character;
    if (character && *character >= 0x20 && (*character < 0x7f || *character > 0x9f)) {
      out += shown.substr(from, at - from);
      continue;
    }
    for (size_t i = from; i < at; ++i) {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(shown[i])));
      out += escaped;
    }
  }
  return out + (shown.size() < text.size() ? "...'" : "'");
}

} // namespace npar::engine
