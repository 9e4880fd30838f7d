// Properties of characters, as Python's `tokenizers` 0.23 has them. It combines tables of several Unicode versions:
// tests/reference/unicode_tables.py asked it for every code point.
#pragma once

#include "engine/text/CharacterSet.h"

#include <string_view>

namespace npar::engine {

enum class Property {
  WhiteSpace,
  Numeric,        ///< Rust's char::is_numeric
  Punctuation,    ///< of ASCII, or of the categories P
  Word,           ///< `\w` of Rust's regex
  Other,          ///< control, format and private characters
  NonspacingMark, ///< category Mn of the table that BertNormalizer uses
  CombiningMark   ///< category M of the table that StripAccents uses
};
const CharacterSet &setOf(Property property);

/// The grapheme cluster break of Unicode's annex 29, with the parts of its rules GB9c and GB11.
enum class GraphemeBreak : uint8_t {
  None,
  CarriageReturn,
  LineFeed,
  Control,
  Extend,
  Joiner,
  Prepend,
  SpacingMark,
  L,
  V,
  T,
  LV,
  LVT,
  RegionalIndicator,
  Pictographic,
  Consonant,
  Linker
};
GraphemeBreak graphemeBreakOf(char32_t c);

/// Characters of a general category, such as "L", that Oniguruma knows and PCRE2 10.42 does not; null without such characters.
const CharacterSet *addedToCategory(std::string_view name);
/// Characters of a script; null if the table lacks it.
const CharacterSet *setOfScript(std::string_view name);

/// Canonical combining class; 0 for most characters.
uint8_t combiningClass(char32_t c);
/// The complete decomposition; empty if the character has none. Hangul syllables are not in this table.
std::u32string_view decomposition(char32_t c, bool compatible);
/// The character that two characters compose to; 0 for other pairs.
char32_t composition(char32_t first, char32_t second);
/// True if a character is the second of a composition.
bool composesBackwards(char32_t c);
/// The lower case of a character, often itself.
std::u32string_view lowercase(const char32_t &c);

/// Constants of Hangul's algorithmic syllables (Unicode 3.12).
namespace hangul {
constexpr char32_t syllables = 0xac00, leads = 0x1100, vowels = 0x1161, trails = 0x11a7;
constexpr char32_t leadCount = 19, vowelCount = 21, trailCount = 28, syllableCount = leadCount * vowelCount * trailCount;
constexpr bool isSyllable(char32_t c) { return c >= syllables && c < syllables + syllableCount; }
} // namespace hangul

} // namespace npar::engine
