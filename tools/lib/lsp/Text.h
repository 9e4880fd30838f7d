// A document as an editor sees it: bytes inside, and positions in lines and the units of the protocol at the edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace npar::lsp {

/// The unit in which a position counts within its line.
enum class Encoding { Utf8, Utf16 };

/// Line and unit count from 0.
struct Position {
  uint32_t line = 0, character = 0;
};

/// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0, end = 0;
  bool holds(size_t offset) const { return begin <= offset && offset <= end; } ///< a cursor may be right after the last character
  bool operator==(const ByteRange &other) const { return begin == other.begin && end == other.end; }
};

/// An immutable text with the offsets of its lines, which end with \n, \r\n or \r. Bytes that are not UTF-8 count as one character each.
class Text {
public:
  explicit Text(std::string bytes);
  const std::string &bytes() const { return content; }
  /// The position of an offset; an offset inside a character is its beginning, one beyond the end the end.
  Position position(size_t offset, Encoding encoding) const;
  /// The offset of a position; one beyond the end of its line is that end, a line beyond the last the end of the text.
  size_t offset(Position position, Encoding encoding) const;
  size_t lineCount() const { return starts.size(); }
  /// The bytes of a line without its end.
  ByteRange line(size_t number) const;
  /// The number of the line that an offset is in.
  size_t lineOf(size_t offset) const;

private:
  std::string content;
  std::vector<size_t> starts; ///< of lines
};

using TextPointer = std::shared_ptr<const Text>;

/// The part of a text that another one has changed: both begin with the same `before` bytes and end with the same `after` bytes.
struct Difference {
  Difference(const std::string &old, const std::string &now);
  /// The offset in the old text of one in the new text; inside the change it is the change's beginning.
  size_t toOld(size_t offset) const;
  /// The offset in the new text of one in the old text.
  size_t toNow(size_t offset) const;
  /// Tells whether a range of the old text is outside of the change.
  bool keeps(ByteRange old) const { return old.end <= before || old.begin >= oldEnd; }
  size_t before = 0, oldEnd = 0, nowEnd = 0;
};

} // namespace npar::lsp
