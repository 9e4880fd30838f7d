// Expressions with parentheses around every operand that has parts.
#include "dsl/parse/PrintExpression.h"

namespace npar::dsl {

using namespace ast;

const char *ast::spelling(Operator op) {
  static const char *const words[] = {"or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"};
  return words[static_cast<int>(op)];
}

void ExpressionPrinter::list(const std::vector<ExpressionPtr> &elements, char open, char close) {
  out << open;
  for (size_t i = 0; i < elements.size(); ++i) {
    out << (i ? ", " : "");
    expression(*elements[i]);
  }
  out << close;
}

void ExpressionPrinter::operand(const Expression &e) {
  bool parts = e.kind == ExpressionKind::Chain || e.kind == ExpressionKind::Negate || e.kind == ExpressionKind::Not;
  out << (parts ? "(" : "");
  expression(e);
  out << (parts ? ")" : "");
}

void ExpressionPrinter::expression(const Expression &e) {
  switch (e.kind) {
  case ExpressionKind::Integer:
  case ExpressionKind::Number:
  case ExpressionKind::Name:
    out << e.text;
    return;
  case ExpressionKind::Boolean:
    out << (e.boolean ? "true" : "false");
    return;
  case ExpressionKind::Text:
    out << '"' << e.text << '"';
    return;
  case ExpressionKind::List:
    return list(e.items, '[', ']');
  case ExpressionKind::Each:
    out << '[';
    expression(*e.items[0]);
    out << " for " << e.text << " in ";
    expression(*e.items[1]);
    out << ']';
    return;
  case ExpressionKind::Tuple:
    return list(e.items, '(', ')');
  case ExpressionKind::Negate:
  case ExpressionKind::Not:
    out << (e.kind == ExpressionKind::Not ? "not " : "-");
    return operand(*e.items[0]);
  case ExpressionKind::Chain:
    for (size_t i = 0; i < e.items.size(); ++i) {
      if (i)
        out << ' ' << spelling(e.operators[i - 1]) << ' ';
      operand(*e.items[i]);
    }
    return;
  case ExpressionKind::Suffixed:
    operand(*e.items[0]);
    for (const Suffix &s : e.suffixes)
      suffix(s);
  }
}

void ExpressionPrinter::suffix(const Suffix &s) {
  if (s.kind == SuffixKind::Member) {
    out << '.' << s.member.text;
    return;
  }
  out << (s.kind == SuffixKind::Call ? '(' : '[');
  for (size_t i = 0; i < s.arguments.size(); ++i) {
    out << (i ? ", " : "") << s.arguments[i].name.text << (s.arguments[i].name.text.empty() ? "" : " = ");
    expression(*s.arguments[i].value);
    out << (s.arguments[i].unit.text.empty() ? "" : " ") << s.arguments[i].unit.text;
  }
  out << (s.kind == SuffixKind::Call ? ')' : ']');
}

} // namespace npar::dsl
