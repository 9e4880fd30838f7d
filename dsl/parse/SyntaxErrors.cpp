// Words syntax errors from what the parser expected and from the tokens around the error.
#include "dsl/parse/SyntaxErrors.h"

#include "dsl/Suggestions.h"
#include "dsl/parse/GrammarWords.h"
#include "dsl/parse/SyntaxMessage.h"
#include "dsl/parse/TokenPlace.h"

#include <algorithm>
#include <cctype>

namespace npar::dsl {
namespace {

/// The tokens that the grammar sees: without comments.
using Tokens = std::vector<antlr4::Token *>;

Tokens tokensOf(antlr4::Parser *parser) {
  Tokens seen;
  for (antlr4::Token *token : static_cast<antlr4::CommonTokenStream *>(parser->getTokenStream())->getTokens())
    if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL)
      seen.push_back(token);
  return seen;
}

bool isWordToken(const std::string &text) { return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_'); }

/// Explains a reserved word in the place of a name: `repeat layer[2]`, `param input: [...]`, `model = Linear(...)`.
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

/// `... weigth 0.5`: a misspelt word is taken for the name that a statement begins with, and then there is no `=`.
void explainMisspelt(Diagnostics &diagnostics, Diagnostic &error, const Location &at, const std::string &before) {
  const std::vector<std::string> words = languageWords();
  if (std::find(words.begin(), words.end(), before) == words.end())
    for (const Help &help : didYouMean(before, words)) {
      error.help(at, help.text);
      diagnostics.offer(error, at, help.wrong, help.right);
    }
}

/// `mehs dp = 2`, `spilt { ... }`: a misspelt word of a plan is taken for a setting, and the error is found at the sign after it.
bool explainMisspeltItem(Diagnostics &diagnostics, Diagnostic &error, uint32_t file, const Tokens &tokens, size_t index) {
  const std::string sign = tokens[index]->getText();
  const size_t back = sign == "=" ? 2 : sign == "{" ? 1 : 0;
  if (back == 0 || index < back)
    return false;
  antlr4::Token *word = tokens[index - back];
  const std::vector<std::string> words = keywordsOf(GrammarItem::Plan);
  if (!isWordToken(word->getText()) || std::find(words.begin(), words.end(), word->getText()) != words.end())
    return false;
  const Helps helps = didYouMean(word->getText(), words);
  for (const Help &help : helps) {
    error.help(placeOf(file, word), help.text);
    diagnostics.offer(error, placeOf(file, word), help.wrong, help.right);
  }
  return !helps.empty();
}

/// Explains `plan grid for Gpt2(dp = 2)`: a parenthesis where a declaration `for` a model has its brace.
void explainLateConstants(Diagnostic &error, const Tokens &tokens, size_t index) {
  auto text = [&](size_t back) { return tokens[index - back]->getText(); };
  if (index >= 4 && text(0) == "(" && text(2) == "for" && text(3) != ")")
    error.help(error.location,
               "write constants after the declaration's own name: `" + text(4) + " " + text(3) + "(...) for " + text(1) + "`");
}

/// Explains `fwd(x) { ... }` and a layer's last value without `return`.
void explainStatement(Diagnostic &error) {
  error.help(error.location, "name each value, `y = f(x)`, and end the function of a layer, `forward(x)`, with `return y`");
}

/// Explains `repeat h = depth { ... }`: the number of blocks is in brackets.
void explainRepeat(Diagnostic &error, const Tokens &tokens, size_t index) {
  if (index >= 2 && tokens[index - 2]->getText() == "repeat")
    error.help(error.location, "the number of blocks is in brackets: `repeat " + tokens[index - 1]->getText() + "[4] { ... }`");
}

/// Tells whether the parser is inside a rule of the grammar, at any depth.
bool isInside(antlr4::Parser *parser, const std::string &rule) {
  for (antlr4::tree::ParseTree *at = parser->getContext(); at; at = at->parent)
    if (parser->getRuleNames()[static_cast<antlr4::ParserRuleContext *>(at)->getRuleIndex()] == rule)
      return true;
  return false;
}

/// Tells whether `next` can be the next item of a clause of a plan, where it follows `last` without a comma.
bool continues(const std::string &clause, const std::string &last, const std::string &next) {
  if (!isWordToken(next) || last == "," || last == clause)
    return false;
  if (clause == "compute")
    return next == "gradients" || next == "reduce";
  if (clause == "require")
    return next == "memory" || next == "bubble";
  bool isSetting = next == "micro" || next == "reduce" || next == "products" || next == "central" || next == "inside" || last == "inside";
  return !isSetting && (isWordToken(last) || std::isdigit(static_cast<unsigned char>(last[0])) || last == ")");
}

/// `compute bf16 reduce f32 hierarchical`: what follows a forgotten comma is taken for clauses of their own, and the error is found later.
bool explainMissingComma(Diagnostics &diagnostics, Diagnostic &error, uint32_t file, const Tokens &tokens, size_t index) {
  static const std::vector<std::string> lists = {"compute", "mesh", "place", "require"},
                                        others = {"{", "}", "split", "store", "recompute", "keep", "bucket", "experts"};
  size_t first = index;
  while (first > 0) {
    const std::string text = tokens[--first]->getText();
    if (std::find(lists.begin(), lists.end(), text) != lists.end())
      break;
    if (first == 0 || std::find(others.begin(), others.end(), text) != others.end())
      return false;
  }
  const std::string clause = tokens[first]->getText();
  for (size_t i = first + 1; i < index; ++i)
    if (const std::string next = tokens[i]->getText(); continues(clause, tokens[i - 1]->getText(), next)) {
      error.help(placeOf(file, tokens[i]), "if this continues `" + clause + "`, a ',' is missing before '" + next + "'");
      diagnostics.offerAfter(error, placeOf(file, tokens[i - 1]), ",");
      return true;
    }
  return false;
}

/// The innermost bracket that nothing closes; null when all are closed.
antlr4::Token *openBracket(const Tokens &tokens) {
  std::vector<antlr4::Token *> open;
  for (antlr4::Token *t : tokens) {
    std::string text = t->getText();
    if (text == "(" || text == "[" || text == "{")
      open.push_back(t);
    else if ((text == ")" || text == "]" || text == "}") && !open.empty())
      open.pop_back();
  }
  return open.empty() ? nullptr : open.back();
}

} // namespace

void explainPower(Diagnostic &error, const std::string &sign) {
  if (sign == "^" || sign == "**")
    error.help(error.location, "there is no operator for powers: multiply x by itself, or write `exp(n * log(x))` for x > 0");
}

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
  Diagnostic &error = diagnostics.error(Code::L2, placeOf(file, token), describeSyntaxError(expected, end ? "" : token->getText(), whole));
  const Tokens tokens = tokensOf(parser);
  auto index = static_cast<size_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  if (index == tokens.size()) // a token that the parser has made up
    index = static_cast<size_t>(
        std::count_if(tokens.begin(), tokens.end(), [&](antlr4::Token *each) { return each->getTokenIndex() < token->getTokenIndex(); }));
  std::string before = index > 0 ? tokens[index - 1]->getText() : "";
  std::string after = index + 1 < tokens.size() ? tokens[index + 1]->getText() : "";
  if (isReservedWord(before) && (token->getText() == "=" || before == "repeat" || before == "param"))
    explainReserved(error, before, token->getText());
  else if (after == "=")
    explainReserved(error, "", token->getText());
  std::vector<std::string> words;
  for (const std::string &literal : expected)
    if (std::string word = literal.substr(literal[0] == '\'', literal.size() - 2 * (literal[0] == '\'')); isReservedWord(word))
      words.push_back(word);
  if (std::string word = nearest(token->getText(), words); !word.empty() && !isReservedWord(token->getText()))
    error.help(error.location, "did you mean '" + word + "'?"), diagnostics.offer(error, error.location, token->getText(), word);
  bool inPlan = isInside(parser, "planItem") || isInside(parser, "planDeclaration");
  bool explained = inPlan && !end && explainMisspeltItem(diagnostics, error, file, tokens, index);
  explained = explained || (inPlan && explainMissingComma(diagnostics, error, file, tokens, index));
  if (!explained && isInside(parser, "setting") && index > 0 && expected.count("NUMBER") != 0 && isWordToken(before))
    error.help(placeOf(file, tokens[index - 1]), "'" + before + "' is read as a setting, and its value is missing");
  if (expected.count("'='") != 0 && expected.count("'as'") != 0 && index > 0)
    explainMisspelt(diagnostics, error, placeOf(file, tokens[index - 1]), before);
  if (expected.count("'='") != 0 && expected.count("'as'") != 0 && token->getText() == "(")
    explainStatement(error);
  if (before == "*" && token->getText() == "*")
    explainPower(error, "**");
  if (expected.count("'['") != 0)
    explainRepeat(error, tokens, index);
  if (expected.count("'{'") != 0)
    explainLateConstants(error, tokens, index);
  if (antlr4::Token *open = end ? openBracket(tokens) : nullptr)
    error.note(placeOf(file, open), "this '" + open->getText() + "' is not closed");
}

} // namespace npar::dsl
