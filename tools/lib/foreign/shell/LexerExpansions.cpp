// The lexer's part for quotes and for what begins with `$`.
#include "tools/lib/foreign/shell/Lexer.h"

#include "tools/lib/foreign/shell/Characters.h"

#include <algorithm>
#include <array>

namespace npar::foreign::shell {
namespace {

constexpr std::string_view specialNames = "@*#?-$!0123456789";
/// Operators of `${NAME operand}`; the longest come first.
constexpr std::array<std::string_view, 21> expansions = {":-", ":=", ":?", ":+", "##", "%%", "//", "/#", "/%", "^^", ",,",
                                                         "-",  "=",  "?",  "+",  "#",  "%",  "/",  "^",  ",",  ":"};

size_t endOfName(std::string_view text, size_t at, size_t limit) {
  size_t end = at;
  while (end < limit && isWord(text[end]) && !(end == at && text[end] >= '0' && text[end] <= '9'))
    ++end;
  return end;
}

bool isLetterOfBraces(char c) { return std::string_view(" \t\r\n\"'`}").find(c) == std::string_view::npos; }

} // namespace

bool Lexer::singleQuoted(Word &word, size_t open, bool hasEscapes) {
  at = open + 1;
  literal(word, at, at, true);
  while (at < limit && text[at] != '\'') {
    if (hasEscapes && text[at] == '\\' && at + 1 < limit) {
      constexpr std::string_view escapes = "ntr\\'\"", meanings = "\n\t\r\\'\"";
      size_t known = escapes.find(text[at + 1]);
      if (known == std::string_view::npos)
        return fail(at, "npar does not follow this escape");
      literal(word, meanings[known], at);
      at += 2;
    } else {
      literal(word, at, at + 1, true);
      ++at;
    }
  }
  if (at >= limit)
    return fail(open, "this quote (') has no end");
  ++at;
  return true;
}

bool Lexer::dollar(Word &word, bool isQuoted) {
  size_t begin = at;
  char after = at + 1 < limit ? text[at + 1] : '\0';
  if (after == '(' && at + 2 < limit && text[at + 2] == '(') {
    at += 3;
    Word inside;
    if (!read(inside, Until::Sum, true))
      return false;
    if (at + 1 >= limit || text[at + 1] != ')')
      return fail(begin, "this '$((' has no end");
    at += 2;
    Part &part = add(word, Part::Kind::Sum, begin, isQuoted);
    part.operands.push_back(std::move(inside)), part.end = at;
    return true;
  }
  if (after == '(')
    return command(word, isQuoted);
  if (after == '{')
    return braced(word, isQuoted);
  if (after == '\'' && !isQuoted)
    return singleQuoted(word, at + 1, true);
  if (after == '"' && !isQuoted) {
    ++at; // a translated text; the quote follows
    return true;
  }
  size_t end = endOfName(text, at + 1, limit);
  if (end == at + 1 && after != '\0' && specialNames.find(after) != std::string_view::npos)
    ++end;
  if (end == at + 1) {
    literal(word, at, at + 1, isQuoted);
    ++at;
    return true;
  }
  Part &part = add(word, Part::Kind::Parameter, begin, isQuoted);
  part.text = text.substr(begin + 1, end - begin - 1);
  at = part.end = end;
  return true;
}

bool Lexer::braced(Word &word, bool isQuoted) {
  size_t begin = at;
  at += 2;
  Part part;
  part.kind = Part::Kind::Parameter, part.isQuoted = isQuoted, part.begin = begin;
  if (at + 1 < limit && (text[at] == '!' || text[at] == '#') && (isWord(text[at + 1]) || (text[at] == '#' && text[at + 1] != '}')))
    part.prefix = text[at++];
  size_t name = at, end = endOfName(text, at, limit);
  if (end == name)
    while (end < limit && text[end] >= '0' && text[end] <= '9')
      ++end;
  if (end == name && end < limit && specialNames.find(text[end]) != std::string_view::npos)
    ++end;
  part.text = text.substr(name, end - name), at = end;
  if (end > name && at < limit && text[at] == '[') {
    ++at;
    part.index.emplace_back();
    if (!read(part.index[0], Until::Bracket, isQuoted))
      return false;
    ++at;
  }
  for (std::string_view op : expansions)
    if (part.op.empty() && at < limit && text.substr(at, op.size()) == op)
      part.op = op;
  at += part.op.size();
  if (end == name || !operands(part, isQuoted))
    return fail(begin, "npar does not follow this expansion");
  if (at >= limit || text[at] != '}')
    return fail(begin, at >= limit ? "this '${' has no end" : "npar does not follow this expansion");
  part.end = ++at;
  word.parts.push_back(std::move(part));
  return true;
}

bool Lexer::operands(Part &part, bool isQuoted) {
  if (part.op.empty())
    return true;
  bool replaces = part.op[0] == '/', isPattern = replaces || part.op[0] == '#' || part.op[0] == '%';
  part.operands.emplace_back();
  if (!read(part.operands[0], replaces ? Until::SlashOrBrace : Until::Brace, isQuoted && !isPattern))
    return false;
  if (!replaces || at >= limit || text[at] != '/')
    return true;
  ++at;
  part.operands.emplace_back();
  return read(part.operands[1], Until::Brace, isQuoted && !isPattern);
}

/// Finds the end of `$(...)`, which is parsed only when it is expanded.
bool Lexer::command(Word &word, bool isQuoted) {
  size_t begin = at;
  std::string open; // parentheses and quotes that are not closed yet
  for (++at; at < limit; ++at) {
    char c = text[at], inside = open.empty() ? '\0' : open.back();
    if (c == '\\')
      ++at;
    else if (c == '"')
      inside == '"' ? open.pop_back() : open.push_back(c);
    else if (c == '(' && (inside != '"' || text[at - 1] == '$'))
      open.push_back(c);
    else if (c == ')' && inside == '(')
      open.pop_back();
    else if (c == '\'' && inside != '"' && text[at - 1] == '$') // `$'...'` has escapes
      for (++at; at < limit && text[at] != '\''; ++at)
        at += text[at] == '\\' ? 1 : 0;
    else if (c == '\'' && inside != '"')
      at = std::min(text.find('\'', at + 1), limit);
    else if (c == '#' && inside != '"' && (text[at - 1] == ' ' || text[at - 1] == '\n' || text[at - 1] == '\t'))
      at = std::min(text.find('\n', at), limit);
    if (open.empty())
      break;
  }
  if (at >= limit)
    return fail(begin, "this '$(' has no end");
  ++at;
  Part &part = add(word, Part::Kind::Output, begin, isQuoted);
  part.text = text.substr(begin + 2, at - begin - 3), part.end = at;
  return true;
}

bool Lexer::backquoted(Word &word, bool isQuoted) {
  size_t begin = at++;
  Part &part = add(word, Part::Kind::Output, begin, isQuoted);
  for (; at < limit && text[at] != '`'; ++at) {
    if (text[at] == '\\' && at + 1 < limit && (text[at + 1] == '`' || text[at + 1] == '\\' || text[at + 1] == '$'))
      ++at;
    part.text += text[at];
  }
  if (at >= limit)
    return fail(begin, "this quote (`) has no end");
  part.end = ++at;
  return true;
}

/// Reads `{a,b}` or `{1..8}`; false if this is none.
bool Lexer::takeBraces(Word &word) {
  constexpr size_t longest = 200;
  size_t end = at + 1;
  bool isList = false;
  while (end < limit && end - at < longest && isLetterOfBraces(text[end])) {
    isList = isList || text[end] == ',' || (text[end] == '.' && text[end - 1] == '.');
    ++end;
  }
  if (!isList || end >= limit || text[end] != '}')
    return false;
  Part &part = add(word, Part::Kind::Braces, at, false);
  part.text = text.substr(at, end + 1 - at);
  at = part.end = end + 1;
  return true;
}

} // namespace npar::foreign::shell
