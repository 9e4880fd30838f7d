// Checks and decodes UTF-8 in texts that come in parts.
#pragma once

#include "engine/status/Status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npar::engine {

/// Extent of a text that is known to be UTF-8: no overlong form, no surrogate, nothing above U+10FFFF.
struct Utf8Extent {
  size_t end = 0;       ///< end of the valid part, in whole characters
  bool damaged = false; ///< the bytes at `end` can never become a character; if false and `end` is before the text's end, a character is
                        ///< incomplete
};

/// `from`: length of the part that was checked before.
Utf8Extent utf8Extent(std::string_view text, size_t from = 0);

/// "the text is not UTF-8: 0xff at byte 12", with a remedy.
Status notUtf8(uint8_t byte, uint64_t position);

std::string utf8Of(char32_t character);
void appendUtf8(char32_t character, std::string &out);
/// Returns the character at `position`, which then moves past it; none if there is no complete one.
std::optional<char32_t> characterAt(std::string_view text, size_t &position);

} // namespace npar::engine
