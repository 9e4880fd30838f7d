// Cuts a text by its tokens, because the syntax tree keeps neither comments nor the ends of blocks.
#include "dsl/format/ModelText.h"

#include "dsl/format/Lines.h"
#include "dsl/parse/TextTokens.h"

#include <algorithm>

namespace npar::dsl {
namespace {

class Cut {
public:
  Cut(const Sources &sources, uint32_t file, const std::vector<TextToken> &tokens) : sources(sources), file(file) {
    for (const TextToken &token : tokens)
      (token.part == TextToken::Part::Comment ? comments : words).push_back(&token);
  }

  ModelText result(const std::string &name, const std::vector<std::pair<std::string, std::string>> &constants) {
    ModelText made;
    int depth = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      depth += step(i);
      if (depth > 0 || words[i]->part != TextToken::Part::Item)
        continue;
      const std::string &keyword = words[i]->text;
      if (keyword == "plan" || keyword == "train")
        i = removeBlock(i, "{");
      else if (keyword == "config")
        i = removeBlock(i, "(");
      else if (keyword == "model" && words[i + 1]->text == name)
        made.declaresModel = true, setConstants(i + 2, constants);
    }
    std::sort(edits.begin(), edits.end(), [](const Fix::Edit &a, const Fix::Edit &b) { return a.span.begin < b.span.begin; });
    made.text = edited(sources.text(file), edits);
    made.text.erase(0, made.text.find_first_not_of('\n'));
    made.text.erase(made.text.find_last_not_of(" \t\r\n") + 1);
    made.text += '\n';
    return made;
  }

private:
  /// The change of depth that a bracket makes.
  int step(size_t i) const {
    const std::string &text = words[i]->text;
    return text == "(" || text == "[" || text == "{" ? 1 : text == ")" || text == "]" || text == "}" ? -1 : 0;
  }

  Span spanOf(const TextToken &token) const {
    return sources.span(
        {file, static_cast<uint32_t>(token.line), static_cast<uint32_t>(token.column + 1), static_cast<uint32_t>(widthOf(token.text))});
  }

  /// Removes the block that begins at `first`, and ends where the first `open` closes. Returns its last token.
  size_t removeBlock(size_t first, const char *open) {
    size_t last = first;
    while (words[last]->text != open)
      ++last;
    for (int depth = step(last); depth > 0; depth += step(last))
      ++last;
    const std::string &text = sources.text(file);
    size_t begin = lineStart(first), end = spanOf(*words[last]).end;
    for (const TextToken *comment : comments) // after the block on its last line
      if (comment->line == words[last]->line && comment->column > words[last]->column)
        end = spanOf(*comment).end;
    size_t next = text.find_first_not_of(" \t\r", end);
    if (next != std::string::npos && text[next] == '\n')
      end = next + 1;
    while (end < text.size() && text[end] == '\n') // so that no two empty lines meet
      ++end;
    edits.push_back({{file, begin, end}, ""});
    return last;
  }

  /// The begin of a block's line, or of the comments directly above it; the end of the token before it on its line.
  size_t lineStart(size_t first) const {
    size_t line = words[first]->line;
    if (first > 0 && words[first - 1]->line == line)
      return spanOf(*words[first - 1]).end;
    for (auto comment = comments.rbegin(); comment != comments.rend(); ++comment)
      if ((*comment)->line + 1 == line && isAlone(**comment))
        line = (*comment)->line;
    return sources.span({file, static_cast<uint32_t>(line), 1, 0}).begin;
  }

  bool isAlone(const TextToken &comment) const {
    return std::none_of(words.begin(), words.end(), [&](const TextToken *word) { return word->line == comment.line; });
  }

  /// Gives constants other defaults. `at`: the token after the model's name.
  void setConstants(size_t at, const std::vector<std::pair<std::string, std::string>> &constants) {
    if (words[at]->text != "(")
      return;
    size_t name = ++at;
    for (int depth = 1; depth > 0; ++at) {
      depth += step(at);
      if (depth > 1 || (depth == 1 && words[at]->text != ","))
        continue;
      for (const auto &[constant, value] : constants)
        if (name < at && words[name]->text == constant) {
          size_t end = spanOf(*words[at - 1]).end;
          edits.push_back({{file, spanOf(*words[name]).end, end}, " = " + value});
        }
      name = at + 1;
    }
  }

  const Sources &sources;
  uint32_t file;
  std::vector<const TextToken *> words, comments;
  std::vector<Fix::Edit> edits;
};

} // namespace

std::optional<ModelText> modelText(const std::string &text, const std::string &name,
                                   const std::vector<std::pair<std::string, std::string>> &constants) {
  Sources sources;
  Diagnostics diagnostics(sources);
  const uint32_t file = sources.add("", text);
  std::optional<std::vector<TextToken>> tokens = readTokens(file, sources, diagnostics);
  return tokens ? std::optional(Cut(sources, file, *tokens).result(name, constants)) : std::nullopt;
}

} // namespace npar::dsl
