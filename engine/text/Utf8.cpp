// Decodes by the table of the Unicode standard (3-7, well-formed byte sequences).
#include "engine/text/Utf8.h"

#include "engine/text/Tokenizer.h"

#include <cstdio>
#include <cstring>

namespace npar::engine {
namespace {

enum class Sequence { Whole, Short, Damaged };

/// Reads the sequence that begins at `position`: `length` bytes of it are there or wrong. Only whole ones set `character`.
Sequence readSequence(std::string_view text, size_t position, size_t &length, char32_t &character) {
  auto byte = [&](size_t i) { return static_cast<uint8_t>(text[position + i]); };
  uint8_t lead = byte(0);
  length = 1, character = lead;
  if (lead < 0x80)
    return Sequence::Whole;
  if (lead < 0xc2 || lead > 0xf4)
    return Sequence::Damaged;
  size_t full = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  character = lead & (0xffU >> (full + 1));
  for (; length < full; ++length) {
    if (position + length == text.size())
      return Sequence::Short;
    uint8_t next = byte(length), least = 0x80, most = 0xbf;
    if (length == 1) { // the second byte shows overlong forms, surrogates and values above U+10FFFF
      least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    }
    if (next < least || next > most)
      return Sequence::Damaged;
    character = character << 6 | (next & 0x3f);
  }
  return Sequence::Whole;
}

} // namespace

Utf8Extent utf8Extent(std::string_view text, size_t from) {
  size_t at = from;
  while (at < text.size()) {
    uint64_t eight;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if (!(eight & 0x8080808080808080U)) {
        at += sizeof(eight);
        continue;
      }
    }
    size_t length;
    char32_t character;
    Sequence found = readSequence(text, at, length, character);
    if (found != Sequence::Whole)
      return {at, found == Sequence::Damaged};
    at += length;
  }
  return {at, false};
}

Status notUtf8(uint8_t byte, uint64_t position) {
  char text[5];
  std::snprintf(text, sizeof(text), "0x%02x", static_cast<unsigned>(byte));
  return Status::badInput(std::string("the text is not UTF-8: ") + text + " at byte " + std::to_string(position) +
                          "; 'iconv -f latin1 -t utf-8 FILE' converts Latin-1, 'iconv -c -f utf-8 -t utf-8 FILE' removes such bytes");
}

void appendUtf8(char32_t character, std::string &out) {
  auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | (character >> shift & 0x3f)); };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xc0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xe0 | character >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | character >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::string utf8Of(char32_t character) {
  std::string text;
  appendUtf8(character, text);
  return text;
}

std::optional<char32_t> characterAt(std::string_view text, size_t &position) {
  size_t length;
  char32_t character;
  if (position >= text.size() || readSequence(text, position, length, character) != Sequence::Whole)
    return std::nullopt;
  position += length;
  return character;
}

size_t wholeCharacters(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    Utf8Extent extent = utf8Extent(text, at);
    if (!extent.damaged)
      return extent.end;
    size_t length;
    char32_t character;
    readSequence(text, extent.end, length, character);
    at = extent.end + length; // a byte that begins no character is passed on as it is
  }
  return at;
}

} // namespace npar::engine
