// What is UTF-8 and what is not, in texts that come in parts.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npar::engine {

/// How far a text is known to be UTF-8: no overlong form, no surrogate, nothing above U+10FFFF.
struct Utf8Extent {
  size_t end = 0;       ///< up to here it is, in whole characters
  bool damaged = false; ///< at `end` stands what no further byte makes a character; else, before the text's end, one that is cut short
};

/// `from`: up to there it was found good before.
Utf8Extent utf8Extent(std::string_view text, size_t from = 0);

/// "the text is not UTF-8: 0xff at byte 12", and what helps.
Status notUtf8(uint8_t byte, uint64_t position);

std::string utf8Of(char32_t character);
/// The character at `position`, which moves behind it; none where there is no whole one.
std::optional<char32_t> characterAt(std::string_view text, size_t &position);

} // namespace npar::engine
