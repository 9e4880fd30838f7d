// Splits a shell script into words and operators. Quotes and expansions are taken apart here, since they decide where a word ends.
#pragma once

#include "tools/lib/foreign/shell/Syntax.h"

#include <string_view>

namespace npar::foreign::shell {

constexpr size_t mostShellWords = 200'000; ///< words, operators and line ends of a script
constexpr int deepestShellNesting = 32;    ///< of commands, and of expansions in each other

/// An error in the syntax of a script, at a byte.
struct SyntaxError {
  size_t offset = 0;
  std::string message; ///< empty: none
};

struct Token {
  enum class Kind { Word, Operator, Newline, End };
  Kind kind = Kind::End;
  std::string op;
  Word word;
  size_t begin = 0, end = 0;
};

class Lexer {
public:
  /// `error` gets the first error, after which every token is the end.
  Lexer(std::string_view text, SyntaxError &error) : text(text), limit(text.size()), error(error) {}

  Token next();
  /// Reads up to the parenthesis that closes a list of words, as in `A=(1 2)`. The opening one is read.
  std::vector<Word> elements();
  /// Reads up to `))`, as in `((A > 1))`; both opening parentheses are read.
  Word sum();
  /// Reads the expression between semicolons of `for ((a; b; c))`. True if another one follows.
  bool sumOfThree(Word &word);
  /// Reads a regular expression, which may have operators in it.
  Word regularExpression();
  /// The body follows the current line.
  void expect(std::shared_ptr<HereDocument> document, const Word &delimiter, bool stripsTabs);
  bool fail(size_t offset, const std::string &message);
  /// The next byte, for `((`.
  bool continuesWith(char c) const { return at < limit && text[at] == c; }
  void skip(size_t bytes) { at += bytes; }

private:
  /// The end of a text.
  enum class Until { Blank, Quote, Brace, SlashOrBrace, Bracket, Sum, Semicolon, Limit };
  bool read(Word &word, Until until, bool isQuoted);
  bool ends(Until until, char c, int parentheses) const;
  bool dollar(Word &word, bool isQuoted);
  bool braced(Word &word, bool isQuoted);
  bool operands(Part &part, bool isQuoted);
  bool command(Word &word, bool isQuoted);
  bool backquoted(Word &word, bool isQuoted);
  bool singleQuoted(Word &word, size_t open, bool hasEscapes);
  void addQuoted(Word &word, Word inside);
  void literal(Word &word, size_t begin, size_t end, bool isQuoted);
  void literal(Word &word, char c, size_t begin);
  bool takeBraces(Word &word);
  bool isLineEnd(size_t place) const;
  void skipBlanks();
  void skipTabs();
  void documents();
  Part &add(Word &word, Part::Kind kind, size_t begin, bool isQuoted);

  struct Expected {
    std::shared_ptr<HereDocument> document;
    std::string delimiter;
    bool isQuoted, stripsTabs;
  };
  std::string_view text;
  size_t at = 0, limit, words = 0;
  int depth = 0;
  bool stripsTabs = false;
  std::vector<Expected> expected;
  SyntaxError &error;
};

} // namespace npar::foreign::shell
