// Builds names and expressions.
#include "dsl/parse/ExpressionBuilder.h"

#include "engine/program/Words.h"

#include <charconv>
#include <stdexcept>

namespace npar::dsl {
namespace {

ast::Operator operatorOf(const std::string &text) {
  using ast::Operator;
  for (int i = 0; i <= static_cast<int>(Operator::Modulo); ++i)
    if (text == ast::spelling(static_cast<Operator>(i)))
      return static_cast<Operator>(i);
  throw std::logic_error("the grammar has an operator '" + text + "' that the syntax tree lacks");
}

} // namespace

Location ExpressionBuilder::at(Context *context) {
  antlr4::Token *first = context->getStart(), *last = context->getStop();
  Location result = placeOf(file, first);
  if (last && last->getStopIndex() > first->getStartIndex())
    result.length = static_cast<uint32_t>(last->getStopIndex() - first->getStartIndex() + 1);
  return result;
}

std::string ExpressionBuilder::unquote(Terminal *node) {
  std::string text = node->getText();
  return text.substr(1, text.size() - 2);
}

ast::ExpressionPtr ExpressionBuilder::expression(Context *context) {
  // One child only: nothing of its own, go down without recursion.
  while (context->children.size() == 1 && context->getRuleIndex() != Grammar::RulePrimary)
    context = static_cast<Context *>(context->children[0]);
  auto result = std::make_unique<ast::Expression>();
  result->location = at(context);
  switch (context->getRuleIndex()) {
  case Grammar::RuleNegation:
  case Grammar::RuleUnary: {
    // Many signs are as good as one or two: keeping no more of them keeps the tree of `- - - ... x` shallow.
    result->kind = context->getRuleIndex() == Grammar::RuleUnary ? ast::ExpressionKind::Negate : ast::ExpressionKind::Not;
    result->items.push_back(expression(static_cast<Context *>(context->children.back())));
    if ((context->children.size() - 1) % 2 == 0) {
      auto outer = std::make_unique<ast::Expression>();
      outer->kind = result->kind;
      outer->location = result->location;
      outer->items.push_back(std::move(result));
      return outer;
    }
    return result;
  }
  case Grammar::RuleSuffixed:
    result->kind = ast::ExpressionKind::Suffixed;
    result->items.push_back(expression(static_cast<Context *>(context->children[0])));
    for (size_t i = 1; i < context->children.size(); ++i)
      result->suffixes.push_back(suffix(static_cast<Grammar::SuffixContext *>(context->children[i])));
    refuseUnits(*result);
    return result;
  case Grammar::RulePrimary:
    return primary(static_cast<Grammar::PrimaryContext *>(context), std::move(result));
  case Grammar::RuleList:
    result->kind = ast::ExpressionKind::List;
    if (auto *each = static_cast<Grammar::ListContext *>(context); each->FOR()) {
      result->kind = ast::ExpressionKind::Each;
      result->text = each->name()->getText();
    }
    for (auto *item : static_cast<Grammar::ListContext *>(context)->expression())
      result->items.push_back(expression(item));
    return result;
  default: // a chain: operand, operator, operand ...
    result->kind = ast::ExpressionKind::Chain;
    for (size_t i = 0; i < context->children.size(); ++i) {
      if (i % 2 == 0) {
        result->items.push_back(expression(static_cast<Context *>(context->children[i])));
      } else {
        auto *op = static_cast<Terminal *>(context->children[i]);
        result->operators.push_back(operatorOf(op->getText()));
        result->places.push_back(at(op));
      }
    }
    return result;
  }
}

/// Units are for the lengths of a learning rate, which is checked when it is read. Other calls have none.
void ExpressionBuilder::refuseUnits(const ast::Expression &call) {
  bool isRate = call.items[0]->kind == ast::ExpressionKind::Name && call.suffixes.size() == 1 &&
                program::valueOf<program::RateSchedule>(call.items[0]->text);
  for (const ast::Suffix &suffix : call.suffixes)
    for (const ast::Argument &argument : suffix.arguments)
      if (!argument.unit.text.empty() && !isRate)
        diagnostics.error(Code::T4, argument.unit.location,
                          "'" + argument.unit.text +
                              "' is a unit of lengths in learning rates, such as `cosine(1e-3, warmup = 0.1 epochs)`");
}

ast::Suffix ExpressionBuilder::suffix(Grammar::SuffixContext *context) {
  ast::Suffix result;
  result.location = at(context);
  if (auto *member = context->name()) {
    result.kind = ast::SuffixKind::Member;
    result.member = name(member);
    return result;
  }
  result.kind = context->getStart()->getText() == "(" ? ast::SuffixKind::Call : ast::SuffixKind::Select;
  for (auto *argument : context->argument()) {
    auto parts = argument->expression();
    ast::Argument a;
    if (parts.size() == 2) {
      ast::ExpressionPtr left = expression(parts[0]);
      if (left->kind != ast::ExpressionKind::Name)
        diagnostics.error(Code::L2, left->location, "expected the name of an argument before '='");
      a.name = {left->text, left->location};
    }
    a.value = expression(parts.back());
    if (auto *unit = argument->lengthUnit())
      a.unit = {unit->getText(), at(unit)};
    result.arguments.push_back(std::move(a));
  }
  return result;
}

ast::ExpressionPtr ExpressionBuilder::primary(Grammar::PrimaryContext *context, ast::ExpressionPtr result) {
  using ast::ExpressionKind;
  result->text = context->getStart()->getText();
  if (context->NUMBER())
    number(*result);
  else if (auto *text = context->STRING()) {
    result->kind = ExpressionKind::Text;
    result->text = unquote(text);
  } else if (context->TRUE() || context->FALSE()) {
    result->kind = ExpressionKind::Boolean;
    result->boolean = context->TRUE() != nullptr;
  } else if (context->name()) {
    result->kind = ExpressionKind::Name;
  } else if (auto *list = context->list()) {
    return expression(list);
  } else {
    auto items = context->expression();
    if (items.size() == 1)
      return expression(items[0]);
    result->kind = ExpressionKind::Tuple;
    for (auto *item : items)
      result->items.push_back(expression(item));
  }
  return result;
}

void ExpressionBuilder::number(ast::Expression &e) {
  const char *begin = e.text.data(), *end = begin + e.text.size();
  bool integer = e.text.find_first_of(".eE") == std::string::npos;
  e.kind = integer ? ast::ExpressionKind::Integer : ast::ExpressionKind::Number;
  if (integer && e.text.size() > 1 && e.text[0] == '0')
    diagnostics.error(Code::L10, e.location,
                      "number '" + e.text.substr(0, 40) + "' begins with 0, which would be octal elsewhere: write it without");
  auto parsed = integer ? std::from_chars(begin, end, e.integer) : std::from_chars(begin, end, e.number);
  if (parsed.ec != std::errc())
    diagnostics.error(Code::L10, e.location,
                      "number '" + e.text.substr(0, 40) + "' is out of range" +
                          (integer ? ", integers end at 9223372036854775807" : ", numbers end at 1.8e308"));
}

std::vector<ast::Item> ExpressionBuilder::parameters(Grammar::ParametersContext *context) {
  std::vector<ast::Item> result;
  if (context)
    for (auto *p : context->parameter())
      result.push_back({name(p->name()), p->expression() ? expression(p->expression()) : nullptr});
  return result;
}

std::vector<ast::Item> ExpressionBuilder::axes(const std::vector<Grammar::AxisItemContext *> &contexts) {
  std::vector<ast::Item> result;
  for (auto *item : contexts)
    result.push_back({name(item->name()), item->expression() ? expression(item->expression()) : nullptr});
  return result;
}

ast::Quantity ExpressionBuilder::quantity(ast::Name what, Terminal *word) {
  ast::Quantity result;
  result.what = std::move(what);
  if (!word)
    return result;
  std::string text = word->getText();
  auto digits = static_cast<uint32_t>(text.find_first_not_of("0123456789"));
  result.value = std::make_unique<ast::Expression>();
  result.value->text = text.substr(0, digits);
  Location number = at(word), unit = at(word);
  number.length = digits, unit.column += digits, unit.length -= digits;
  result.value->location = number;
  this->number(*result.value);
  result.unit = {text.substr(digits), unit};
  return result;
}

} // namespace npar::dsl
