// Splits Python text into tokens. Nothing is executed.
#pragma once

#include "dsl/Diagnostics.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::foreign::python {

/// A line of Python, and where it is in a file. Notebooks have theirs inside of JSON.
struct Line {
  std::string text; ///< without its end
  dsl::Location at; ///< of its first character
};

struct Token {
  enum class Kind { Name, Number, String, Operator, Newline, End };
  Kind kind = Kind::End;
  std::string text; ///< of a String its characters, with escapes resolved
  dsl::Location at;
  size_t indentation = 0;   ///< of the first token of a statement: bytes of blanks in front of it
  bool isFormatted = false; ///< a String that depends on values: f"{x}"
};

/// Lines of a plain file. `file`: its index in the sources.
std::vector<Line> linesOf(const std::string &text, uint32_t file);
/// Lines of the code cells of a Jupyter notebook; nothing if the text is no notebook.
std::optional<std::vector<Line>> linesOfNotebook(const std::string &text, uint32_t file);

/// Comments, blank lines and commands for a notebook's shell ("!pip", "%cd") make no token. A Newline ends each statement; none is inside
/// of brackets. What is no Python becomes Operators of one character. The last token is End.
std::vector<Token> tokensOf(const std::vector<Line> &lines);

} // namespace npar::foreign::python
