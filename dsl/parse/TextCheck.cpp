// Refuses text that would hurt the parser: too deep, or no text at all. One pass over the bytes, no recursion.
#include "dsl/parse/Parse.h"

namespace npar::dsl {
namespace {

/// Length of the UTF-8 sequence at `i`, 0 when it is none.
size_t sequence(const std::string &text, size_t i) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char c = byte(i);
  if (c < 0x80)
    return 1;
  size_t n = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
  if (n == 0 || i + n > text.size())
    return 0;
  for (size_t k = 1; k < n; ++k)
    if ((byte(i + k) & 0xC0) != 0x80)
      return 0;
  unsigned char second = byte(i + 1);
  bool overlong = (c == 0xE0 && second < 0xA0) || (c == 0xF0 && second < 0x90);
  bool outside = (c == 0xED && second > 0x9F) || (c == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : n;
}

} // namespace

bool checkText(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  const std::string &text = sources.text(file);
  Location at{file, 1, 1, 1};
  int depth = 0;
  bool comment = false, string = false;
  for (size_t i = 0; i < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    size_t length = sequence(text, i);
    if (length == 0 || (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) {
      static const char digits[] = "0123456789abcdef";
      std::string byte = {'0', 'x', digits[c >> 4], digits[c & 15]};
      diagnostics.error(Code::L1, {file, 0, 0, 1}, "this is binary data, not text: byte " + byte + " at offset " + std::to_string(i));
      return false;
    }
    if (c == '\n') {
      comment = string = false;
      ++at.line;
      at.column = 1;
      ++i;
      continue;
    }
    if (!comment && c == '"')
      string = !string;
    else if (!string && c == '#')
      comment = true;
    else if (!comment && !string) {
      if (c == '(' || c == '[' || c == '{') {
        if (++depth > maximumNesting) {
          diagnostics.error(Code::L3, at, "parentheses, brackets and braces nest deeper than " + std::to_string(maximumNesting))
              .help(at, "give names to the inner parts");
          return false;
        }
      } else if ((c == ')' || c == ']' || c == '}') && depth > 0)
        --depth;
    }
    i += length;
    ++at.column;
  }
  return true;
}

} // namespace npar::dsl
