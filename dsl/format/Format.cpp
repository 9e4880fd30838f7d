// Tokens to lines, lines to text. The result is read again: if a token or a comment has changed, the text stays as it is.
#include "dsl/format/Format.h"

#include "dsl/format/Lines.h"
#include "dsl/parse/TextTokens.h"

#include <algorithm>

namespace npar::dsl {
namespace {

std::string textOf(const std::vector<Line> &lines, const std::string &end) {
  std::string result;
  for (const Line &line : lines) {
    if (!line.isBlank()) {
      result += std::string(line.indent, ' ') + line.text;
      if (!line.comment.empty() && !line.text.empty())
        result += std::string(line.commentColumn - widthOf(line.text), ' ');
      result += line.comment;
    }
    result += end;
  }
  return result;
}

/// Tells whether two token lists differ in white space alone. Comments may lose spaces at their ends.
bool isSame(const std::vector<TextToken> &left, const std::vector<TextToken> &right) {
  auto words = [](const TextToken &token) { return token.text.substr(0, token.text.find_last_not_of(" \t") + 1); };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](const TextToken &a, const TextToken &b) { return words(a) == words(b) && a.part == b.part; });
}

} // namespace

std::optional<std::string> format(uint32_t file, const Sources &sources, Diagnostics &diagnostics) {
  std::optional<std::vector<TextToken>> tokens = readTokens(file, sources, diagnostics);
  if (!tokens)
    return std::nullopt;
  std::vector<Line> lines = linesOf(*tokens);
  align(lines);
  const std::string &text = sources.text(file);
  size_t firstEnd = text.find('\n');
  bool isWindows = firstEnd != std::string::npos && firstEnd > 0 && text[firstEnd - 1] == '\r';
  std::string result = textOf(lines, isWindows ? "\r\n" : "\n");

  Sources again;
  Diagnostics errors(again);
  std::optional<std::vector<TextToken>> formatted = readTokens(again.add("", result), again, errors);
  if (formatted && isSame(*tokens, *formatted))
    return result;
  diagnostics.error(Code::I1, {file, 0, 0, 1}, "internal error: formatting would change more than white space");
  return std::nullopt;
}

std::optional<std::string> format(const std::string &text) {
  Sources sources;
  Diagnostics diagnostics(sources);
  uint32_t file = sources.add("", text);
  return format(file, sources, diagnostics);
}

} // namespace npar::dsl
