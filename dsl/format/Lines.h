// The lines of a formatted text, before marks and comments are aligned.
#pragma once

#include "dsl/parse/TextTokens.h"

#include <string>
#include <vector>

namespace npar::dsl {

/// A place of a line that lines next to it can share a column with: `as`, `=`, `->`, `if`, `else` or what follows a ':'.
struct Mark {
  size_t place = 0;      ///< byte of the line's text
  size_t column = 0;     ///< in the source
  bool isPadded = false; ///< the source has more than one space before it
  std::string word;
};

/// The line with the bracket that a continued line is indented by.
struct Anchor {
  size_t line;
  bool atBracket; ///< below what follows the bracket; otherwise relative to the indentation of that line
};

struct Line {
  size_t indent = 0;
  std::optional<Anchor> anchor;
  std::string text;         ///< without indentation and comment
  std::string comment;      ///< at its end, or alone; empty: none
  size_t commentColumn = 0; ///< in the source, from its first character that is no space
  size_t padding = 0;       ///< spaces that alignment has added, all of them before the first bracket
  std::vector<Mark> marks;  ///< ascending places
  bool beginsItem = false;  ///< the continuation of another line otherwise
  bool isBlank() const { return text.empty() && comment.empty(); }
};

/// Number of characters of a UTF-8 text.
size_t widthOf(const std::string &text);

/// Cuts tokens into lines: one space or none between tokens, two between items of one line, indentation by braces and brackets, at most one
/// empty line in a row.
std::vector<Line> linesOf(const std::vector<TextToken> &tokens);

/// Gives marks in one column of neighbouring lines the least column that fits, and comments theirs, unless the code has become too long.
void align(std::vector<Line> &lines);

} // namespace npar::dsl
