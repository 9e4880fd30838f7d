// Walks the lines once; a token that spans lines begins at its first.
#include "tools/lib/foreign/python/Tokens.h"

#include "tools/lib/foreign/shell/Characters.h"

#include <algorithm>
#include <cctype>

namespace npar::foreign::python {
namespace {

using shell::isLetter;
using shell::isWord;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The first byte of UTF-8 for a character that is no ASCII counts as a letter.
bool beginsName(char c) { return isLetter(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; }
bool continuesName(char c) { return isWord(c) || static_cast<unsigned char>(c) >= 0x80; }

class Tokenizer {
public:
  explicit Tokenizer(const std::vector<Line> &lines) : lines(lines) {}

  std::vector<Token> run() {
    while (line < lines.size())
      step();
    endStatement();
    push(Token::Kind::End, "", at());
    return std::move(tokens);
  }

private:
  const std::string &text() const { return lines[line].text; }
  char peek(size_t ahead = 0) const { return column + ahead < text().size() ? text()[column + ahead] : '\0'; }

  dsl::Location at() const {
    if (lines.empty())
      return {};
    dsl::Location place = line < lines.size() ? lines[line].at : lines.back().at;
    if (line < lines.size())
      place.column += static_cast<uint32_t>(column);
    return place;
  }

  void push(Token::Kind kind, std::string word, dsl::Location place) {
    Token token;
    token.kind = kind, token.text = std::move(word), token.at = place;
    token.at.length = static_cast<uint32_t>(std::clamp<size_t>(token.text.size(), 1, 60));
    token.indentation = indentation;
    tokens.push_back(std::move(token));
  }

  void endStatement() {
    if (!tokens.empty() && tokens.back().kind != Token::Kind::Newline)
      push(Token::Kind::Newline, "", at());
  }

  void nextLine() {
    ++line, column = 0;
    if (depth == 0 && !isContinued) {
      endStatement();
      isFresh = true;
    }
    isContinued = false;
  }

  void step() {
    if (isFresh) {
      indentation = std::min(text().find_first_not_of(" \t"), text().size());
      isFresh = false;
      if (char first = indentation < text().size() ? text()[indentation] : '\0'; first == '!' || first == '%')
        column = text().size(); // a command for the notebook's shell
    }
    while (peek() == ' ' || peek() == '\t' || peek() == '\r')
      ++column;
    const char c = peek();
    if (column >= text().size() || c == '#')
      return nextLine();
    if (c == '\\' && column + 1 == text().size()) {
      isContinued = true;
      return nextLine();
    }
    if (size_t quote = quoteAt())
      return readString(quote);
    const dsl::Location place = at();
    const size_t begin = column;
    if (beginsName(c)) {
      while (continuesName(peek()))
        ++column;
      return push(Token::Kind::Name, text().substr(begin, column - begin), place);
    }
    if (isDigit(c) || (c == '.' && isDigit(peek(1)))) {
      while (isWord(peek()) || peek() == '.' ||
             ((peek() == '+' || peek() == '-') && (text()[column - 1] == 'e' || text()[column - 1] == 'E')))
        ++column;
      return push(Token::Kind::Number, text().substr(begin, column - begin), place);
    }
    if (c == '(' || c == '[' || c == '{')
      ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0)
      --depth;
    const bool isDouble = (c == '*' && peek(1) == '*') || (c == '=' && peek(1) == '=') || (c == '/' && peek(1) == '/') ||
                          (peek(1) == '=' && std::string("+-*/%!<>|&^:").find(c) != std::string::npos);
    column += isDouble ? 2 : 1;
    if (c == ';' && depth == 0)
      return endStatement();
    push(Token::Kind::Operator, text().substr(begin, column - begin), place);
  }

  /// The number of letters before the quote of a string, plus one; 0: no string begins here.
  size_t quoteAt() const {
    size_t letters = 0;
    while (letters < 3 && std::string("rRbBuUfF").find(peek(letters)) != std::string::npos && peek(letters) != '\0')
      ++letters;
    return peek(letters) == '"' || peek(letters) == '\'' ? letters + 1 : 0;
  }

  void readString(size_t quote) {
    const dsl::Location place = at();
    bool isRaw = false, formats = false;
    for (size_t i = 0; i + 1 < quote; ++i) {
      const char letter = static_cast<char>(std::tolower(peek(i)));
      isRaw = isRaw || letter == 'r', formats = formats || letter == 'f';
    }
    column += quote - 1;
    const char mark = peek();
    const bool isLong = peek(1) == mark && peek(2) == mark;
    column += isLong ? 3 : 1;
    std::string value;
    bool depends = false;
    for (;;) {
      if (column >= text().size()) {
        const bool goesOn = isLong || (!text().empty() && text().back() == '\\');
        if (!goesOn || line + 1 >= lines.size())
          break;
        if (isLong)
          value += '\n';
        ++line, column = 0;
        continue;
      }
      const char c = peek();
      if (c == mark && (!isLong || (peek(1) == mark && peek(2) == mark))) {
        column += isLong ? 3 : 1;
        break;
      }
      depends = depends || (formats && c == '{');
      ++column;
      if (c == '\\' && !isRaw && column < text().size())
        value += escaped(text()[column++]);
      else if (c != '\\' || isRaw)
        value += c;
    }
    push(Token::Kind::String, std::move(value), place);
    tokens.back().isFormatted = depends;
  }

  /// The character after a backslash. Others than the usual ones stay as they are: no setting has them.
  static std::string escaped(char c) {
    switch (c) {
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case 'r':
      return "\r";
    case '\\':
    case '\'':
    case '"':
      return {c};
    default:
      return {'\\', c};
    }
  }

  const std::vector<Line> &lines;
  std::vector<Token> tokens;
  size_t line = 0, column = 0, depth = 0, indentation = 0;
  bool isFresh = true, isContinued = false;
};

} // namespace

std::vector<Line> linesOf(const std::string &text, uint32_t file) {
  std::vector<Line> lines;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({text.substr(begin, end - begin), {file, static_cast<uint32_t>(lines.size() + 1), 1, 1}});
    begin = end + 1;
  }
  return lines;
}

std::vector<Token> tokensOf(const std::vector<Line> &lines) { return Tokenizer(lines).run(); }

} // namespace npar::foreign::python
