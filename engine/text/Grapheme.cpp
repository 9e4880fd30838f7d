// The rules GB3 to GB999 for one cluster, with what they need to remember of the characters before.
#include "engine/text/Grapheme.h"

#include "engine/text/Unicode.h"
#include "engine/text/Utf8.h"

namespace npar::engine {
namespace {

using Break = GraphemeBreak;

bool isControl(Break b) { return b == Break::Control || b == Break::CarriageReturn || b == Break::LineFeed; }
bool extends(Break b) { return b == Break::Extend || b == Break::Linker || b == Break::Joiner; }

/// True if no rule about these two alone separates the characters.
bool joins(Break left, Break right) {
  if (left == Break::CarriageReturn)
    return right == Break::LineFeed;
  if (isControl(left) || isControl(right))
    return false;
  if (left == Break::L)
    if (right == Break::L || right == Break::V || right == Break::LV || right == Break::LVT)
      return true;
  if ((left == Break::LV || left == Break::V) && (right == Break::V || right == Break::T))
    return true;
  if ((left == Break::LVT || left == Break::T) && right == Break::T)
    return true;
  return extends(right) || right == Break::SpacingMark || left == Break::Prepend;
}

} // namespace

size_t graphemeEnd(std::string_view text, size_t at) {
  Break left = graphemeBreakOf(*characterAt(text, at));
  bool pictographic = left == Break::Pictographic; // a pictograph, then characters that extend it
  bool conjunct = left == Break::Consonant, linked = false;
  size_t regionalIndicators = left == Break::RegionalIndicator ? 1 : 0;
  while (at < text.size()) {
    size_t next = at;
    Break right = graphemeBreakOf(*characterAt(text, next));
    bool emoji = pictographic && left == Break::Joiner && right == Break::Pictographic;
    bool syllable = conjunct && linked && right == Break::Consonant;
    bool flag = left == Break::RegionalIndicator && right == Break::RegionalIndicator && regionalIndicators % 2 == 1;
    if (!joins(left, right) && !emoji && !syllable && !flag)
      return at;
    pictographic = right == Break::Pictographic || (pictographic && extends(right));
    linked = conjunct && extends(right) && (linked || right == Break::Linker);
    conjunct = right == Break::Consonant || (conjunct && extends(right));
    regionalIndicators += right == Break::RegionalIndicator;
    left = right, at = next;
  }
  return at;
}

} // namespace npar::engine
