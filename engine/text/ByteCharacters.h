// The printable characters that stand for bytes in byte-level vocabularies, as GPT-2 introduced them: a space is written 'Ġ'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npar::engine {

/// The character of a byte, in UTF-8: itself where it is printable in Latin-1, else one from U+0100 on.
std::string_view characterOfByte(uint8_t byte);
/// The bytes that a token's characters stand for; none where a character stands for no byte.
std::optional<std::string> bytesOfCharacters(std::string_view token);

} // namespace npar::engine
