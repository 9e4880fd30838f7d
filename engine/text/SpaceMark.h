// U+2581, which represents a space in the vocabularies of SentencePiece and of tokenizers derived from it.
#pragma once

#include <cstddef>
#include <string_view>

namespace npar::engine {

inline constexpr std::string_view spaceMark = "\xe2\x96\x81";
inline constexpr char32_t spaceMarkCharacter = 0x2581;

} // namespace npar::engine
