// The words of a text that may have errors, and the block around a place. The parser is stricter; this needs no grammar.
#pragma once

#include "tools/lib/lsp/Text.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npar::lsp {

enum class TokenKind { Word, Number, String, Sign, Comment };

struct Token {
  TokenKind kind = TokenKind::Sign;
  ByteRange at;
};

/// An open bracket around a place.
struct OpenBracket {
  char bracket = '{';
  size_t token = 0;  ///< index of the bracket
  std::string head;  ///< of `{`: the keyword that begins the block, such as "plan", "split" or "repeat"; empty: unknown
  std::string owner; ///< of `(` and `[`: the word before it
};

/// A top-level declaration: `model Gpt2(...) { ... }`.
struct Declaration {
  std::string keyword, name;
  ByteRange whole; ///< from the keyword to its closing bracket, or to the next declaration
  ByteRange nameAt;
  std::string of; ///< the word after `for`
};

class Scan {
public:
  explicit Scan(const std::string &text);

  const std::vector<Token> &tokens() const { return list; }
  std::string_view textOf(const Token &token) const { return std::string_view(text).substr(token.at.begin, token.at.end - token.at.begin); }
  std::string_view textOf(size_t token) const { return textOf(list[token]); }
  /// The token that a cursor touches: a word rather than a sign before it. Nothing between tokens.
  std::optional<size_t> touching(size_t offset) const;
  /// Number of tokens that end at an offset or before it.
  size_t before(size_t offset) const;
  /// The brackets that are open before a token, outermost first.
  std::vector<OpenBracket> openBefore(size_t token) const;
  const std::vector<Declaration> &declarations() const { return declared; }
  /// The declaration around an offset.
  const Declaration *declarationAt(size_t offset) const;
  /// The comment lines right above a declaration's keyword, or at the beginning of the text, without their signs.
  std::string commentAbove(size_t offset) const;

private:
  void split();
  void findDeclarations();
  std::string headOf(size_t bracket) const;

  const std::string &text;
  std::vector<Token> list;
  std::vector<Declaration> declared;
};

/// The keywords that begin a declaration.
const std::vector<std::string> &declarationKeywords();

} // namespace npar::lsp
