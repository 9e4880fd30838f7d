// Walks over words and brackets, and knows which words begin a list of names.
#include "tools/lib/lsp/WrittenNames.h"

#include <algorithm>
#include <map>

namespace npar::lsp {

std::vector<WrittenName> writtenNames(const std::string &text, const Scan &scan, const Declaration &declaration, size_t offset) {
  static const std::map<std::string_view, SymbolKind> lists = {
      {"axis", SymbolKind::Axis},   {"mesh", SymbolKind::MeshAxis}, {"input", SymbolKind::Input},   {"param", SymbolKind::Parameter},
      {"state", SymbolKind::State}, {"repeat", SymbolKind::Repeat}, {"forward", SymbolKind::Value}, {"update", SymbolKind::Value}};
  std::vector<WrittenName> names;
  const std::vector<Token> &tokens = scan.tokens();
  auto list = lists.end(); // of the statement
  int braces = 0, round = 0, listRound = 0;
  std::string_view before;
  size_t end = declaration.whole.begin; // of the token before
  for (size_t i = scan.before(declaration.whole.begin); i < tokens.size() && tokens[i].at.end <= offset; ++i) {
    if (tokens[i].kind == TokenKind::Comment)
      continue;
    std::string_view word = scan.textOf(i);
    bool continues = before == "," || before == "=" || before == ":" || round > 0;
    bool isNewLine = text.find_first_of("\r\n", end) < tokens[i].at.begin && !continues;
    if (isNewLine || word == "{" || word == "}")
      list = lists.end();
    auto begun = lists.find(word);
    if (word == "{" || word == "}") {
      braces = std::max(0, braces + (word == "{" ? 1 : -1)), round = 0;
    } else if (word == "(" || word == "[") {
      ++round;
    } else if (word == ")" || word == "]") {
      round = std::max(0, round - 1);
    } else if (tokens[i].kind == TokenKind::Word && begun != lists.end() && braces > 0 && round == 0) {
      list = begun;
      listRound = begun->second == SymbolKind::Value ? 1 : 0; // arguments
    } else if (tokens[i].kind == TokenKind::Word) {
      const bool isIndex = before == "[" && i + 1 < tokens.size() && scan.textOf(i + 1) == "in"; // `repeat h[i in depth]`
      bool isFirst = before == "," || before == "(" || (list != lists.end() && before == list->first);
      if (braces == 0 && round == 1 && isFirst)
        names.push_back({SymbolKind::Constant, std::string(word)});
      else if (list != lists.end() && round == listRound && isFirst)
        names.push_back({list->second, std::string(word)});
      else if (isIndex)
        names.push_back({SymbolKind::Value, std::string(word)});
      else if (braces > 0 && round == 0 && i + 1 < tokens.size() && (scan.textOf(i + 1) == "=" || scan.textOf(i + 1) == "as"))
        names.push_back({SymbolKind::Value, std::string(word)});
    }
    before = word, end = tokens[i].at.end;
  }
  return names;
}

} // namespace npar::lsp
