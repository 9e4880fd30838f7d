// U+2581, which represents a space in the vocabularies of SentencePiece and of tokenizers derived from it.
#pragma once

#include <cstddef>
#include <string_view>

namespace npar::engine {

inline constexpr std::string_view spaceMark = "\xe2\x96\x81";
inline constexpr char32_t spaceMarkCharacter = 0x2581;

/// True if a mark follows another character. If no token has such a mark, no merge joins across a space.
inline bool hasInnerMark(std::string_view token) {
  size_t last = token.rfind(spaceMark), other = 0;
  while (token.substr(other, spaceMark.size()) == spaceMark)
    other += spaceMark.size();
  return last != std::string_view::npos && last > other;
}

} // namespace npar::engine
