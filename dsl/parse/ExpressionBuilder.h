// Syntax trees of names and expressions from the parser's contexts; builders of larger parts extend it.
#pragma once

#include "dsl/Ast.h"
#include "dsl/parse/TokenPlace.h"

#include "NparParser.h"

namespace npar::dsl {

/// Walks the parser's contexts; runs only when there was no syntax error, so every part is there.
class ExpressionBuilder {
public:
  using Grammar = grammar::NparParser;
  using Context = antlr4::ParserRuleContext;
  using Terminal = antlr4::tree::TerminalNode;

  ExpressionBuilder(uint32_t file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  ast::ExpressionPtr expression(Context *context);

protected:
  Location at(Terminal *node) { return placeOf(file, node->getSymbol()); }
  /// The range from the first token to the last, or to the end of the first if they are on different lines.
  Location at(Context *context);
  /// A text without its quotes.
  static std::string unquote(Terminal *node);
  ast::Name name(Context *context) { return {context->getText(), at(context)}; }
  ast::Name textName(Terminal *text) { return {unquote(text), at(text)}; }
  std::vector<ast::Item> parameters(Grammar::ParametersContext *context);
  std::vector<ast::Item> axes(const std::vector<Grammar::AxisItemContext *> &contexts);
  /// A number and a unit in one word, such as 25MB; only `what` when `word` is null.
  ast::Quantity quantity(ast::Name what, Terminal *word);
  /// Reads the number that the expression's text is.
  void number(ast::Expression &e);

  uint32_t file;

private:
  ast::Suffix suffix(Grammar::SuffixContext *context);
  void refuseUnits(const ast::Expression &call);
  ast::ExpressionPtr primary(Grammar::PrimaryContext *context, ast::ExpressionPtr result);

  Diagnostics &diagnostics;
};

} // namespace npar::dsl
