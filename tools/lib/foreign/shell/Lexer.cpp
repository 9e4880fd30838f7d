// Words and operators. One function reads all texts that may contain expansions; they differ in what ends them.
#include "tools/lib/foreign/shell/Lexer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace npar::foreign::shell {
namespace {

/// The longest come first.
constexpr std::array<std::string_view, 24> operators = {"<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "<<", ">>", ">&", "<&",
                                                        "&>",  ">|",  "<>",  "|&",  "<(", ">(", "|",  "&",  ";",  "<",  ">",  "("};

bool isOperator(char c) { return std::string_view("|&;()<>").find(c) != std::string_view::npos; }
bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

} // namespace

bool Lexer::fail(size_t offset, const std::string &message) {
  if (error.message.empty())
    error = {offset, message};
  at = limit = 0; // every further token is the end
  expected.clear();
  return false;
}

bool Lexer::isLineEnd(size_t place) const {
  return place < limit && (text[place] == '\n' || (text[place] == '\r' && place + 1 < limit && text[place + 1] == '\n'));
}

void Lexer::skipBlanks() {
  while (at < limit) {
    if (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')
      ++at;
    else if (text[at] == '\\' && (at + 1 == limit || isLineEnd(at + 1)))
      at += at + 1 == limit ? 1 : text[at + 1] == '\r' ? 3 : 2;
    else if (text[at] == '#')
      at = std::min(text.find('\n', at), limit);
    else
      return;
  }
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.begin = token.end = at;
  if (at >= limit)
    return token;
  if (++words > mostShellWords)
    return fail(at, "this script has more than " + std::to_string(mostShellWords) + " words, the most that are read"), token;
  if (text[at] == '\n') {
    ++at;
    documents();
    token.kind = error.message.empty() ? Token::Kind::Newline : Token::Kind::End;
    return token;
  }
  bool isProcess = (text[at] == '<' || text[at] == '>') && at + 1 < limit && text[at + 1] == '('; // `<(command)` is a word
  if (isOperator(text[at]) && !isProcess) {
    token.kind = Token::Kind::Operator, token.op = text[at];
    for (std::string_view one : operators)
      if (text.substr(at, one.size()) == one) {
        token.op = one;
        break;
      }
    at += token.op.size(), token.end = at;
    return token;
  }
  if (isProcess && !command(token.word, false))
    return {};
  if (!read(token.word, Until::Blank, false))
    return {};
  token.word.begin = token.begin;
  token.kind = Token::Kind::Word, token.end = at;
  return token;
}

std::vector<Word> Lexer::elements() {
  size_t open = at;
  std::vector<Word> list;
  for (Token token = next();; token = next()) {
    if (token.kind == Token::Kind::Word)
      list.push_back(std::move(token.word));
    else if (token.kind == Token::Kind::Operator && token.op == ")")
      return list;
    else if (token.kind != Token::Kind::Newline)
      return fail(open > 0 ? open - 1 : 0, "this list of words has no end"), std::vector<Word>();
  }
}

Word Lexer::sum() {
  Word word;
  size_t open = at;
  if (read(word, Until::Sum, true) && at >= limit)
    fail(open, "this '((' has no end");
  at += 2;
  return word;
}

bool Lexer::sumOfThree(Word &word) {
  if (!read(word, Until::Semicolon, true) || at >= limit)
    return fail(at, "this '((' has no end");
  bool isLast = text[at] == ')';
  at += isLast ? 2 : 1;
  return !isLast;
}

Word Lexer::regularExpression() {
  skipBlanks();
  Word word;
  word.begin = at;
  Part &part = add(word, Part::Kind::Literal, at, false);
  while (at < limit && !isBlank(text[at]))
    part.text += text[at++];
  part.end = word.end = at;
  return word;
}

bool Lexer::ends(Until until, char c, int parentheses) const {
  switch (until) {
  case Until::Blank:
    return isBlank(c) || isOperator(c);
  case Until::Quote:
    return c == '"';
  case Until::Brace:
    return c == '}';
  case Until::SlashOrBrace:
    return c == '}' || c == '/';
  case Until::Bracket:
    return c == ']';
  case Until::Sum:
    return c == ')' && parentheses == 0;
  case Until::Semicolon:
    return (c == ')' && parentheses == 0) || c == ';';
  case Until::Limit:
    return false;
  }
  return true;
}

/// Reads parts until `until`, whose byte is left. `isQuoted`: inside of double quotes, or as if.
bool Lexer::read(Word &word, Until until, bool isQuoted) {
  word.begin = at;
  if (++depth > deepestShellNesting)
    return fail(at, "this is nested more than " + std::to_string(deepestShellNesting) + " deep");
  int parentheses = 0;
  int64_t open = 0; // braces that an expansion has left open: `${A:-{}`; none are expanded before they are closed
  bool good = true, isSum = until == Until::Sum || until == Until::Semicolon;
  while (good && at < limit && !ends(until, text[at], parentheses)) {
    char c = text[at], after = at + 1 < limit ? text[at + 1] : '\0';
    if (isSum)
      parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '\\' && isLineEnd(at + 1)) {
      at += after == '\r' ? 3 : 2;
    } else if (c == '\\' && at + 1 < limit &&
               (!isQuoted || after == '$' || after == '`' || after == '\\' || (after == '"' && until != Until::Limit))) {
      literal(word, at + 1, at + 2, true);
      at += 2;
    } else if (c == '\\' && at + 1 == limit) {
      ++at; // no line to continue
    } else if (c == '\'' && !isQuoted) {
      good = singleQuoted(word, at, false);
    } else if (c == '"' && until != Until::Limit) {
      size_t quote = at++;
      Word inside;
      good = read(inside, Until::Quote, true);
      if (inside.parts.empty())
        literal(word, quote + 1, quote + 1, true); // makes a word too
      if (good && at >= limit)
        good = fail(quote, "this quote (\") has no end");
      ++at;
      addQuoted(word, std::move(inside));
    } else if (c == '$') {
      size_t begin = at;
      good = dollar(word, isQuoted);
      if (after == '{' && good)
        open += std::count(text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + static_cast<ptrdiff_t>(at), '{') -
                std::count(text.begin() + static_cast<ptrdiff_t>(begin), text.begin() + static_cast<ptrdiff_t>(at), '}');
    } else if (c == '`') {
      good = backquoted(word, isQuoted);
    } else if (c == '{' && until == Until::Blank && open == 0 && takeBraces(word)) {
      continue;
    } else {
      open += open > 0 ? (c == '{') - (c == '}') : 0;
      literal(word, at, at + 1, isQuoted);
      ++at;
      if (c == '\n' && until == Until::Limit)
        skipTabs();
    }
  }
  --depth;
  word.end = at;
  return good;
}

/// Adds what is inside of double quotes. Beside `$@` or `${NAME[@]}` without elements, empty values make no word, unless an operator other
/// than these has changed them.
void Lexer::addQuoted(Word &word, Word inside) {
  auto isList = [](const Part &part) {
    const Part *index = part.index.empty() || part.index[0].parts.size() != 1 ? nullptr : &part.index[0].parts[0];
    return part.kind == Part::Kind::Parameter && part.prefix != '#' && (part.text == "@" || (index && index->text == "@"));
  };
  bool hasList = std::any_of(inside.parts.begin(), inside.parts.end(), isList);
  for (Part &part : inside.parts) {
    part.mayVanish = hasList && (part.op.empty() || std::string_view("-=?+#%").find(part.op.back()) != std::string_view::npos);
    word.parts.push_back(std::move(part));
  }
}

void Lexer::literal(Word &word, size_t begin, size_t end, bool isQuoted) {
  if (word.parts.empty() || word.parts.back().kind != Part::Kind::Literal || word.parts.back().isQuoted != isQuoted ||
      word.parts.back().end != begin)
    add(word, Part::Kind::Literal, begin, isQuoted);
  word.parts.back().text += text.substr(begin, end - begin);
  word.parts.back().end = end;
}

void Lexer::literal(Word &word, char c, size_t begin) { add(word, Part::Kind::Literal, begin, true).text = c; }

Part &Lexer::add(Word &word, Part::Kind kind, size_t begin, bool isQuoted) {
  Part part;
  part.kind = kind, part.begin = begin, part.end = begin, part.isQuoted = isQuoted;
  word.parts.push_back(std::move(part));
  return word.parts.back();
}

void Lexer::expect(std::shared_ptr<HereDocument> document, const Word &delimiter, bool strips) {
  Expected one{std::move(document), "", false, strips};
  for (const Part &part : delimiter.parts)
    one.delimiter += part.text, one.isQuoted = one.isQuoted || part.isQuoted;
  expected.push_back(std::move(one));
}

void Lexer::skipTabs() {
  while (stripsTabs && at < limit && text[at] == '\t')
    ++at;
}

/// Reads the bodies that follow a line.
void Lexer::documents() {
  for (Expected &one : std::exchange(expected, {})) {
    size_t begin = at, end = at, after = limit;
    for (bool isOver = false; !isOver; at = isOver ? at : end) {
      end = std::min(text.find('\n', at), limit);
      std::string_view line = text.substr(at, end - at);
      if (!line.empty() && line.back() == '\r')
        line.remove_suffix(1);
      while (one.stripsTabs && !line.empty() && line.front() == '\t')
        line.remove_prefix(1);
      isOver = line == one.delimiter;
      after = std::min(end + 1, limit);
      if (end == limit && !isOver)
        at = limit, isOver = true;
      end = after;
    }
    size_t whole = std::exchange(limit, at);
    at = begin, stripsTabs = one.stripsTabs;
    skipTabs();
    while (one.isQuoted && at < limit) {
      size_t next = std::min(text.find('\n', at), limit - 1) + 1;
      literal(one.document->body, at, next, true);
      at = next;
      skipTabs();
    }
    if (!one.isQuoted && !read(one.document->body, Until::Limit, true))
      return;
    at = after, limit = whole;
  }
}

} // namespace npar::foreign::shell
