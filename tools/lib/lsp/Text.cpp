// Counts characters of UTF-8 in bytes and in units of UTF-16.
#include "tools/lib/lsp/Text.h"

#include <algorithm>

namespace npar::lsp {
namespace {

/// Length in bytes of the character at an offset; 1 for bytes that begin none.
size_t characterLength(const std::string &bytes, size_t offset, size_t end) {
  auto first = static_cast<unsigned char>(bytes[offset]);
  size_t length = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 1;
  if (offset + length > end)
    return 1;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(bytes[offset + i]) & 0xC0) != 0x80)
      return 1;
  return length;
}

/// The units of a character of `length` bytes: those outside of the basic plane are two units of UTF-16.
uint32_t unitsOf(size_t length, Encoding encoding) {
  return encoding == Encoding::Utf8 ? static_cast<uint32_t>(length) : length == 4 ? 2 : 1;
}

} // namespace

Text::Text(std::string bytes) : content(std::move(bytes)), starts{0} {
  for (size_t i = 0; i < content.size(); ++i)
    if (content[i] == '\n' || (content[i] == '\r' && (i + 1 == content.size() || content[i + 1] != '\n')))
      starts.push_back(i + 1);
}

size_t Text::lineOf(size_t offset) const {
  return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin()) - 1;
}

ByteRange Text::line(size_t number) const {
  if (number >= starts.size())
    return {content.size(), content.size()};
  size_t end = number + 1 < starts.size() ? starts[number + 1] : content.size();
  while (end > starts[number] && (content[end - 1] == '\n' || content[end - 1] == '\r'))
    --end;
  return {starts[number], end};
}

Position Text::position(size_t offset, Encoding encoding) const {
  offset = std::min(offset, content.size());
  size_t number = lineOf(offset);
  ByteRange range = line(number);
  uint32_t units = 0;
  for (size_t at = range.begin; at < std::min(offset, range.end);) {
    size_t length = characterLength(content, at, range.end);
    if (at + length > offset)
      break;
    units += unitsOf(length, encoding), at += length;
  }
  return {static_cast<uint32_t>(number), units};
}

size_t Text::offset(Position position, Encoding encoding) const {
  ByteRange range = line(position.line);
  uint32_t units = 0;
  for (size_t at = range.begin; at < range.end;) {
    size_t length = characterLength(content, at, range.end);
    units += unitsOf(length, encoding);
    if (units > position.character)
      return at;
    at += length;
  }
  return range.end;
}

Difference::Difference(const std::string &old, const std::string &now) {
  size_t shorter = std::min(old.size(), now.size());
  before = static_cast<size_t>(std::mismatch(old.begin(), old.begin() + static_cast<long>(shorter), now.begin()).first - old.begin());
  size_t after = 0;
  while (after < shorter - before && old[old.size() - 1 - after] == now[now.size() - 1 - after])
    ++after;
  oldEnd = old.size() - after, nowEnd = now.size() - after;
}

size_t Difference::toOld(size_t offset) const { return offset <= before ? offset : offset >= nowEnd ? offset - nowEnd + oldEnd : before; }

size_t Difference::toNow(size_t offset) const { return offset <= before ? offset : offset >= oldEnd ? offset - oldEnd + nowEnd : before; }

} // namespace npar::lsp
