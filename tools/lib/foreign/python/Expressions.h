// Reads expressions of Python text whose values are known without running it.
#pragma once

#include "tools/lib/foreign/python/Literals.h"
#include "tools/lib/foreign/python/Tokens.h"

#include <algorithm>

namespace npar::foreign::python {

constexpr size_t deepestValue = 32;     ///< levels of brackets in the text
constexpr size_t mostWork = 20'000'000; ///< keys of maps that are compared or copied

/// A value that npar does not know, with the reason.
ValuePointer unknownValue(const std::string &why, dsl::Location at);

/// Parses by recursive descent. Unknown syntax is skipped to the next comma or closing bracket of the same level.
class ExpressionReader {
protected:
  explicit ExpressionReader(std::vector<Token> all) : tokens(std::move(all)) {}

  /// The map with one more key, or another value of a key; unknown if it is too large.
  void add(Value &map, const std::string &key, const ValuePointer &value, dsl::Location at);
  /// The map with the keys of another one.
  Value merged(Value map, const Value &other);

  /// The token at the place, or after it.
  const Token &now(size_t ahead = 0) const { return tokens[std::min(place + ahead, tokens.size() - 1)]; }
  bool is(const char *text, size_t ahead = 0) const;
  bool isName(size_t ahead = 0) const { return now(ahead).kind == Token::Kind::Name; }
  bool endsStatement() const { return now().kind == Token::Kind::Newline || now().kind == Token::Kind::End; }
  /// The value that a name is bound to; null for other names.
  const ValuePointer *find(const std::string &name) const;

  /// Skips to the end of an expression: a comma, a colon or a closing bracket of this level, or the end of the statement.
  void skipExpression();
  bool endsExpression() const { return endsStatement() || is(",") || is(":") || is(")") || is("]") || is("}") || is("="); }
  /// The expression that begins at a token, as text.
  ValuePointer noLiteral(dsl::Location at, size_t begin);
  /// An expression up to its end.
  ValuePointer value();
  /// Null for what is not computed.
  static ValuePointer sum(const Value &left, const Value &right, bool isDifference, dsl::Location at);
  ValuePointer product();
  /// Null for what is no literal; then some of its tokens may be passed.
  ValuePointer primary();
  /// Strings next to each other are one.
  ValuePointer text();
  ValuePointer named();
  ValuePointer lookedUp(const Token &token) const;
  /// The keyword arguments of a call up to its closing parenthesis, as a map. Others are read for the calls in them.
  ValuePointer arguments();
  ValuePointer list();
  ValuePointer map();

  std::vector<Token> tokens;
  size_t place = 0, level = 0, work = 0;
  Literals result;
};

} // namespace npar::foreign::python
