// One line of a table for people: cells of fixed widths that never touch, however long what they hold.
#pragma once

#include <string>

namespace npar::readable {

/// `TableRow(2).left("reduce_scatter", 15).right("12", 8).str()`: a cell is padded to its width. A cell that fills or exceeds its width is
/// followed by a single space, so the columns after it move, but no two cells run together.
class TableRow {
public:
  explicit TableRow(size_t indent = 0) : line(indent, ' ') {}

  TableRow &left(std::string text, size_t width) {
    text.resize(text.size() < width ? width : text.size(), ' ');
    return add(text);
  }
  TableRow &right(const std::string &text, size_t width) {
    return add(std::string(text.size() < width ? width - text.size() : 0, ' ') + text);
  }
  /// Text of any length, such as the last column or a unit.
  TableRow &text(const std::string &more) { return add(more); }
  /// The line with its end.
  std::string str() const { return line + '\n'; }

private:
  TableRow &add(const std::string &cell) {
    if (!line.empty() && line.back() != ' ' && !cell.empty() && cell.front() != ' ')
      line += ' ';
    for (char one : cell) // names of files are cells too
      line += one == '\n' || one == '\r' ? "\\u000" + std::string(1, one == '\n' ? 'a' : 'd') : std::string(1, one);
    return *this;
  }

  std::string line;
};

} // namespace npar::readable
