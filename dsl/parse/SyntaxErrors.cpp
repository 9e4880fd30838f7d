// Words syntax errors from what the parser expected and from the tokens around the error.
#include "dsl/parse/SyntaxErrors.h"

#include "dsl/Suggestions.h"
#include "dsl/parse/SyntaxMessage.h"
#include "dsl/parse/TokenPlace.h"

namespace npar::dsl {
namespace {

/// Where a name is expected and a reserved word stands: `repeat layer[2]`, `param input: [...]`, `model = Linear(...)`.
void explainReserved(Diagnostic &error, const std::string &before, const std::string &found) {
  const std::string &word = isReservedWord(found) ? found : before;
  if (!isReservedWord(word) || word == "repeat" || word == "param")
    return;
  std::string form = before == "repeat" ? "`repeat blocks[...] as " : before == "param" ? "`param weight as " : "`part as ";
  error.help(error.location, "'" + word + "' is a reserved word and cannot be a name; paths may have it: " + form + '"' + word + "\"" +
                                 (before == "repeat"  ? "`"
                                  : before == "param" ? ": ...`"
                                                      : " = ...`"));
}

/// The innermost bracket that nothing closes; null when all are closed.
antlr4::Token *openBracket(antlr4::CommonTokenStream *tokens) {
  std::vector<antlr4::Token *> open;
  for (antlr4::Token *t : tokens->getTokens()) {
    std::string text = t->getText();
    if (text == "(" || text == "[" || text == "{")
      open.push_back(t);
    else if ((text == ")" || text == "]" || text == "}") && !open.empty())
      open.pop_back();
  }
  return open.empty() ? nullptr : open.back();
}

} // namespace

void SyntaxErrors::syntaxError(antlr4::Recognizer *recognizer, antlr4::Token *token, size_t line, size_t, const std::string &,
                               std::exception_ptr) {
  if (!token || line == lastLine || count == mostSyntaxErrors)
    return;
  lastLine = line;
  ++count;
  auto *parser = static_cast<antlr4::Parser *>(recognizer);
  std::set<std::string> expected;
  for (ssize_t type : parser->getExpectedTokens().toList()) {
    std::string literal = parser->getVocabulary().getLiteralName(type);
    expected.insert(literal.empty() ? type == -1 ? "<EOF>" : parser->getVocabulary().getSymbolicName(type) : literal);
  }
  bool end = token->getType() == antlr4::Token::EOF;
  Diagnostic &error = diagnostics.error(placeOf(file, token), describeSyntaxError(expected, end ? "" : token->getText(), whole));
  size_t index = token->getTokenIndex();
  std::string before = index > 0 ? parser->getTokenStream()->get(index - 1)->getText() : "";
  std::string after = end ? "" : parser->getTokenStream()->get(index + 1)->getText();
  if (isReservedWord(before) && (token->getText() == "=" || before == "repeat" || before == "param"))
    explainReserved(error, before, token->getText());
  else if (after == "=")
    explainReserved(error, "", token->getText());
  std::vector<std::string> words;
  for (const std::string &literal : expected)
    if (std::string word = literal.substr(literal[0] == '\'', literal.size() - 2 * (literal[0] == '\'')); isReservedWord(word))
      words.push_back(word);
  if (std::string word = nearest(token->getText(), words); !word.empty() && !isReservedWord(token->getText()))
    error.help(error.location, "did you mean '" + word + "'?");
  if (antlr4::Token *open = end ? openBracket(static_cast<antlr4::CommonTokenStream *>(parser->getTokenStream())) : nullptr)
    error.note(placeOf(file, open), "this '" + open->getText() + "' is not closed");
}

} // namespace npar::dsl
