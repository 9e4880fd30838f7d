// Splits a text into words and signs, whatever they mean.
#include "tools/lib/lsp/Scan.h"

#include <algorithm>
#include <cctype>

namespace npar::lsp {
namespace {

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool isOneOf(std::string_view word, const std::vector<std::string> &words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

const std::vector<std::string> blockKeywords = {"split",   "store",  "repeat", "if",  "else",
                                                "forward", "update", "under",  "for", "checkpoint"};

} // namespace

const std::vector<std::string> &declarationKeywords() {
  static const std::vector<std::string> words = {"import", "layer",     "model",  "train",   "plan",
                                                 "config", "optimizer", "family", "machine", "data"};
  return words;
}

Scan::Scan(const std::string &text) : text(text) {
  split();
  findDeclarations();
}

void Scan::split() {
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    size_t end = i + 1;
    TokenKind kind = TokenKind::Sign;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
      continue;
    }
    auto endOfLine = [&] { return std::min(text.find_first_of("\r\n", i), text.size()); };
    if (c == '#') {
      kind = TokenKind::Comment, end = endOfLine();
    } else if (c == '"') {
      kind = TokenKind::String;
      size_t close = text.find('"', i + 1);
      end = close < endOfLine() ? close + 1 : endOfLine();
    } else if (isWordCharacter(c)) {
      kind = std::isdigit(static_cast<unsigned char>(c)) ? TokenKind::Number : TokenKind::Word;
      while (end < text.size() && (isWordCharacter(text[end]) || (kind == TokenKind::Number && text[end] == '.')))
        ++end;
    } else if ((c == '-' && i + 1 < text.size() && text[i + 1] == '>') ||
               (i + 1 < text.size() && text[i + 1] == '=' && std::string("=!<>").find(c) != std::string::npos)) {
      end = i + 2;
    }
    list.push_back({kind, {i, end}});
    i = end;
  }
}

std::string Scan::headOf(size_t bracket) const {
  for (size_t i = bracket; i-- > 0;) {
    std::string_view word = textOf(i);
    if (word == "{" || word == "}")
      break;
    if (list[i].kind == TokenKind::Word && isOneOf(word, blockKeywords))
      return std::string(word);
  }
  return "";
}

void Scan::findDeclarations() {
  int depth = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    std::string_view word = textOf(i);
    if (word == "{" || word == "(" || word == "[")
      ++depth;
    else if (word == "}" || word == ")" || word == "]")
      depth = std::max(0, depth - 1);
    // A declaration begins its line; below an unclosed bracket it is still found by that.
    bool begins = list[i].kind == TokenKind::Word && isOneOf(word, declarationKeywords()) &&
                  (list[i].at.begin == 0 || text[list[i].at.begin - 1] == '\n' || text[list[i].at.begin - 1] == '\r' || depth == 0);
    bool isName = i > 0 && depth == 0 && !declared.empty() && declared.back().nameAt == list[i].at;
    if (!begins || isName)
      continue;
    if (depth == 0 && i > 0 && textOf(i - 1) == "for")
      continue;
    depth = 0;
    Declaration one;
    one.keyword = word;
    one.whole = {list[i].at.begin, text.size()};
    if (i + 1 < list.size() && (list[i + 1].kind == TokenKind::Word || list[i + 1].kind == TokenKind::String)) {
      one.nameAt = list[i + 1].at;
      one.name = textOf(i + 1);
      if (list[i + 1].kind == TokenKind::String && one.name.size() >= 2)
        one.name = one.name.substr(1, one.name.size() - 2);
    } else {
      one.nameAt = list[i].at;
    }
    if (!declared.empty())
      declared.back().whole.end = std::min(declared.back().whole.end, list[i].at.begin);
    declared.push_back(std::move(one));
  }
  for (Declaration &one : declared) { // the end: the bracket that closes it
    size_t first = before(one.whole.begin + 1);
    int open = 0;
    bool braced = false;
    size_t last = one.nameAt.end;
    for (size_t i = first; i < list.size() && list[i].at.begin < one.whole.end; ++i) {
      std::string_view word = textOf(i);
      if (list[i].kind == TokenKind::Comment)
        continue;
      if (open == 0 && !braced && word == "for" && i + 1 < list.size())
        one.of = textOf(i + 1);
      bool opens = word == "{" || word == "(" || word == "[", closes = word == "}" || word == ")" || word == "]";
      open += opens ? 1 : closes ? -1 : 0;
      braced |= word == "{" && open == 1;
      last = list[i].at.end;
      if (braced && open == 0)
        break;
    }
    if (open <= 0)
      one.whole.end = last;
  }
}

std::optional<size_t> Scan::touching(size_t offset) const {
  std::optional<size_t> found;
  for (size_t i = before(offset); i-- > 0 && list[i].at.end >= offset;)
    found = i;
  size_t next = before(offset);
  if (next < list.size() && list[next].at.begin <= offset && (!found || list[next].kind != TokenKind::Sign))
    found = next;
  return found;
}

size_t Scan::before(size_t offset) const {
  return static_cast<size_t>(std::partition_point(list.begin(), list.end(), [&](const Token &token) { return token.at.end <= offset; }) -
                             list.begin());
}

std::vector<OpenBracket> Scan::openBefore(size_t token) const {
  const Declaration *inside = token < list.size() ? declarationAt(list[token].at.begin) : declared.empty() ? nullptr : &declared.back();
  size_t first = inside ? before(inside->whole.begin) : 0;
  std::vector<OpenBracket> open;
  for (size_t i = first; i < std::min(token, list.size()); ++i) {
    std::string_view word = textOf(i);
    if (list[i].kind != TokenKind::Sign)
      continue;
    if (word == "{") {
      open.push_back({'{', i, open.empty() ? (inside ? inside->keyword : "") : headOf(i), ""});
    } else if (word == "(" || word == "[") {
      open.push_back({word[0], i, "", i > 0 && list[i - 1].kind == TokenKind::Word ? std::string(textOf(i - 1)) : ""});
    } else if ((word == "}" || word == ")" || word == "]") && !open.empty()) {
      char opening = word == "}" ? '{' : word == ")" ? '(' : '[';
      while (!open.empty() && open.back().bracket != opening && opening == '{')
        open.pop_back();
      if (!open.empty() && open.back().bracket == opening)
        open.pop_back();
    }
  }
  return open;
}

const Declaration *Scan::declarationAt(size_t offset) const {
  for (const Declaration &one : declared)
    if (one.whole.holds(offset))
      return &one;
  return nullptr;
}

std::string Scan::commentAbove(size_t offset) const {
  size_t place = before(offset);
  while (place < list.size() && list[place].at.begin < offset)
    ++place;
  std::vector<std::string> lines;
  size_t below = offset;
  for (size_t i = place; i-- > 0 && list[i].kind == TokenKind::Comment; below = list[i].at.begin) {
    std::string gap = text.substr(list[i].at.end, below - list[i].at.end);
    size_t start = list[i].at.begin;
    if (std::count(gap.begin(), gap.end(), '\n') != 1 || (start > 0 && text[start - 1] != '\n'))
      break;
    std::string_view line = textOf(i).substr(1);
    lines.emplace_back(!line.empty() && line[0] == ' ' ? line.substr(1) : line);
  }
  std::string comment;
  for (size_t i = lines.size(); i-- > 0;)
    comment += lines[i] + (i > 0 ? "\n" : "");
  return comment;
}

} // namespace npar::lsp
