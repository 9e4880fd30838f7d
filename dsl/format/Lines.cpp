// Decides where lines end, how far they are indented, and the space between two tokens.
#include "dsl/format/Lines.h"

#include <algorithm>

namespace npar::dsl {

using Part = TextToken::Part;

size_t widthOf(const std::string &text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

namespace {

constexpr size_t step = 4, hanging = 8; ///< indentation of a block, and of the rest of a statement

bool isOpen(const std::string &text) { return text == "(" || text == "["; }
bool isClose(const std::string &text) { return text == ")" || text == "]"; }

std::string spaceBetween(const TextToken &before, const TextToken &token) {
  const std::string &left = before.text, &right = token.text;
  if (before.part == Part::Sign || before.part == Part::Joint || token.part == Part::Joint || token.part == Part::Glued)
    return "";
  if (isOpen(left) || isClose(right) || right == "," || right == ":" || (left == "{" && right == "}"))
    return "";
  return token.part == Part::Item && left != "{" ? "  " : " ";
}

/// Turns tokens into lines, one after the other.
class Writer {
public:
  explicit Writer(const std::vector<TextToken> &tokens) : tokens(tokens), wide(tokens.size()), chained(tokens.size()) {
    std::vector<size_t> open, items(tokens.size()); // items: number of those directly in a pair of braces
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!open.empty() && tokens[i].part == Part::Item)
        ++items[open.back()];
      if (is(i, "{")) {
        open.push_back(i);
      } else if (is(i, "}")) {
        size_t begin = open.back();
        open.pop_back();
        chained[i] = chained[begin] = items[begin] == 1 && isChain(begin, i);
        wide[i] = wide[begin] = tokens[i].line != tokens[begin].line && !chained[i];
      }
    }
  }

  std::vector<Line> write() {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i == 0 || breaksBefore(i))
        begin(i);
      add(i);
    }
    return std::move(lines);
  }

private:
  bool isComment(size_t i) const { return tokens[i].part == Part::Comment; }
  bool is(size_t i, const char *text) const { return !isComment(i) && tokens[i].text == text; }

  /// Tells whether braces after `else` hold another `if` and share its lines, as `} else { if c {` and `} }`: they indent nothing.
  bool isChain(size_t begin, size_t end) const {
    return begin > 0 && is(begin - 1, "else") && is(begin + 1, "if") && tokens[begin + 1].line == tokens[begin].line && is(end - 1, "}") &&
           tokens[end - 1].line == tokens[end].line;
  }

  bool breaksBefore(size_t i) const {
    bool breaks = tokens[i].line != tokens[i - 1].line;
    if (isComment(i - 1))
      return true;
    if (isComment(i))
      return breaks;
    if ((is(i, "{") || (is(i, "else") && is(i - 1, "}") && wide[i - 1])) && tokens[i].part != Part::Item)
      return false; // a brace and `else` share the line of their statement
    if ((is(i - 1, "{") && wide[i - 1]) || (is(i, "}") && wide[i]))
      return true;
    return breaks;
  }

  /// Begins the line of token i, after an empty line if the source has one there.
  void begin(size_t i) {
    bool isFirst = i == 0, afterOpen = !isFirst && is(i - 1, "{"), beforeClose = is(i, "}");
    if (!isFirst && tokens[i].line > tokens[i - 1].line + 1 && !afterOpen && !beforeClose)
      lines.emplace_back();
    Line line;
    line.beginsItem = tokens[i].part == Part::Item || isComment(i) || beforeClose;
    if (beforeClose) {
      line.indent = (depth - 1) * step;
    } else if (!brackets.empty()) {
      const Bracket &bracket = brackets.back();
      bool closes = isClose(tokens[i].text) && !isComment(i);
      line.indent = closes && bracket.hangs ? bracket.outside : bracket.column;
      line.anchor = Anchor{bracket.line, !bracket.hangs};
    } else {
      line.indent = depth * step + (inStatement(i) && !is(i, "{") && !is(i, "else") ? hanging : 0);
    }
    lines.push_back(std::move(line));
    firstColumn = tokens[i].column;
  }

  /// Tells whether the line of token i continues a statement. A comment does if the token after it does.
  bool inStatement(size_t i) const {
    while (i < tokens.size() && isComment(i))
      ++i;
    return i < tokens.size() && tokens[i].part != Part::Item && !is(i, "}");
  }

  void add(size_t i) {
    Line &line = lines.back();
    const TextToken &token = tokens[i];
    if (isComment(i)) {
      line.comment = token.text.substr(0, token.text.find_last_not_of(" \t") + 1);
      line.commentColumn = token.column >= firstColumn ? token.column - firstColumn : 0;
      return;
    }
    std::string space = line.text.empty() ? "" : spaceBetween(tokens[i - 1], token);
    line.text += space;
    if (brackets.empty() && !space.empty() && isMark(i)) {
      const TextToken &before = tokens[i - 1];
      size_t end = before.column + widthOf(before.text);
      line.marks.push_back({line.text.size(), token.column - firstColumn, token.column > end + 1, before.text == ":" ? ":" : token.text});
    }
    if (isClose(token.text) && !brackets.empty())
      brackets.pop_back();
    line.text += token.text;
    if (isOpen(token.text)) {
      bool hangs = i + 1 < tokens.size() && (isComment(i + 1) || tokens[i + 1].line != token.line);
      brackets.push_back({hangs ? line.indent + step : line.indent + widthOf(line.text), line.indent, lines.size() - 1, hangs});
    }
    if (token.text == "{" && !chained[i])
      ++depth;
    else if (token.text == "}" && !chained[i])
      --depth;
  }

  bool isMark(size_t i) const {
    static const char *const words[] = {"as", "=", "->", "if", "else"};
    return tokens[i].part == Part::Plain && !is(i - 1, "}") &&
           (is(i - 1, ":") || std::find(std::begin(words), std::end(words), tokens[i].text) != std::end(words));
  }

  struct Bracket {
    size_t column;  ///< of lines within it
    size_t outside; ///< indentation of the line that opens it
    size_t line;    ///< number of that line
    bool hangs;     ///< nothing follows it in its line
  };
  const std::vector<TextToken> &tokens;
  std::vector<bool> wide;    ///< of braces: their block has several lines
  std::vector<bool> chained; ///< of braces: see isChain
  std::vector<Line> lines;
  std::vector<Bracket> brackets;
  size_t depth = 0, firstColumn = 0;
};

} // namespace

std::vector<Line> linesOf(const std::vector<TextToken> &tokens) { return Writer(tokens).write(); }

} // namespace npar::dsl
