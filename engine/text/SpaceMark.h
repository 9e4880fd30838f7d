// U+2581, which stands for a space in SentencePiece's vocabularies and those made after them.
#pragma once

#include <cstddef>
#include <string_view>

namespace npar::engine {

inline constexpr std::string_view spaceMark = "\xe2\x96\x81";
inline constexpr char32_t spaceMarkCharacter = 0x2581;

/// Whether a mark stands after another character. Where no token has such a one, no merge joins what a space parts.
inline bool hasInnerMark(std::string_view token) {
  size_t last = token.rfind(spaceMark), other = 0;
  while (token.substr(other, spaceMark.size()) == spaceMark)
    other += spaceMark.size();
  return last != std::string_view::npos && last > other;
}

} // namespace npar::engine
