// Arithmetic and comparison of constants: integers never wrap, divisions of integers are exact.
#include "dsl/Suggestions.h"
#include "dsl/constants/Evaluate.h"

#include <algorithm>
#include <cmath>

namespace npar::dsl {
namespace {

using ast::Operator;

bool compare(Operator op, int order) {
  switch (op) {
  case Operator::Equal:
    return order == 0;
  case Operator::NotEqual:
    return order != 0;
  case Operator::Less:
    return order < 0;
  case Operator::LessEqual:
    return order <= 0;
  case Operator::Greater:
    return order > 0;
  case Operator::GreaterEqual:
  case Operator::Or: // and what follows: no comparisons
  case Operator::And:
  case Operator::Add:
  case Operator::Subtract:
  case Operator::Multiply:
  case Operator::Divide:
  case Operator::Modulo:
    break;
  }
  return order >= 0;
}

/// Returns whether an optional constant can have this value: a number, a truth value, a text, a list of them or `none`.
bool isOptional(const Value &value) {
  return isNumber(value) || std::holds_alternative<bool>(value) || std::holds_alternative<std::string>(value) ||
         std::holds_alternative<NumberList>(value) || std::holds_alternative<TextList>(value) || std::holds_alternative<None>(value);
}

bool isComparison(Operator op) { return op >= Operator::Equal && op <= Operator::GreaterEqual; }

Value integers(Reporter &reporter, Operator op, Location at, int64_t a, int64_t b) {
  auto both = [&] { return std::to_string(a) + " " + ast::spelling(op) + " " + std::to_string(b); };
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case Operator::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case Operator::Subtract:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case Operator::Multiply:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case Operator::Divide:
  case Operator::Modulo:
    if (b == 0)
      reporter.fail(Code::L10, at, "division by zero: " + both());
    if (a == INT64_MIN && b == -1) {
      overflow = true;
      break;
    }
    if (op == Operator::Modulo)
      return a % b;
    if (a % b != 0) {
      Helps helps;
      if (a > 0 && b > 0)
        helps.push_back(nearestDivisors(a, b) + " divide " + std::to_string(a) + "; write " + std::to_string(a) + ".0 for a fraction");
      reporter.fail(Code::L10, at, both() + " is not a whole number", helps);
    }
    result = a / b;
    break;
  case Operator::Or: // and what follows: not for numbers, or done before
  case Operator::And:
  case Operator::Equal:
  case Operator::NotEqual:
  case Operator::Less:
  case Operator::LessEqual:
  case Operator::Greater:
  case Operator::GreaterEqual:
    break;
  }
  if (overflow)
    reporter.fail(Code::L10, at, "integer overflow: " + both() + " is beyond 64 bits");
  return result;
}

} // namespace

Value Evaluator::negate(Location at, const Value &value) {
  if (auto *d = std::get_if<double>(&value))
    return -*d;
  if (auto *i = std::get_if<int64_t>(&value))
    return integers(reporter, Operator::Subtract, at, 0, *i);
  reporter.fail(Code::L9, at, "'-' needs a number, this is " + kindOf(value));
}

Value Evaluator::combine(Operator op, Location at, const Value &left, const Value &right) {
  std::string sign = std::string("'") + ast::spelling(op) + "'";
  if (op == Operator::And || op == Operator::Or) {
    auto *a = std::get_if<bool>(&left), *b = std::get_if<bool>(&right);
    if (!a || !b)
      reporter.fail(Code::L9, at, sign + " needs true or false on both sides, found " + kindOf(a ? right : left));
    return op == Operator::And ? *a && *b : *a || *b;
  }
  auto *a = std::get_if<int64_t>(&left), *b = std::get_if<int64_t>(&right);
  if (a && b)
    return isComparison(op) ? Value(compare(op, *a < *b ? -1 : *a > *b)) : integers(reporter, op, at, *a, *b);
  if (isNumber(left) && isNumber(right)) {
    double x = toDouble(left), y = toDouble(right);
    if (isComparison(op))
      return compare(op, x < y ? -1 : x > y);
    if (op == Operator::Divide && y == 0)
      reporter.fail(Code::L10, at, "division by zero: " + textOf(left) + " / " + textOf(right));
    double result = op == Operator::Add        ? x + y
                    : op == Operator::Subtract ? x - y
                    : op == Operator::Multiply ? x * y
                    : op == Operator::Divide   ? x / y
                                               : std::fmod(x, y);
    if (!std::isfinite(result))
      reporter.fail(Code::L10, at, textOf(left) + " " + ast::spelling(op) + " " + textOf(right) + " is not a finite number");
    return result;
  }
  if (left.index() == right.index() && (op == Operator::Equal || op == Operator::NotEqual)) {
    if (auto *s = std::get_if<std::string>(&left))
      return compare(op, *s == std::get<std::string>(right) ? 0 : 1);
    if (auto *t = std::get_if<bool>(&left))
      return compare(op, *t == std::get<bool>(right) ? 0 : 1);
  }
  if ((op == Operator::Equal || op == Operator::NotEqual) && isOptional(left) && isOptional(right))
    if (std::holds_alternative<None>(left) || std::holds_alternative<None>(right))
      return compare(op, left.index() == right.index() ? 0 : 1);
  reporter.fail(Code::L9, at, sign + " cannot combine " + kindOf(left) + " and " + kindOf(right));
}

/// contains(list, x): whether an entry of a list of constants equals x. `none` has no entries.
static bool contains(Reporter &reporter, Location at, const Value &list, const Value &x) {
  if (std::holds_alternative<None>(list))
    return false;
  auto *numbers = std::get_if<NumberList>(&list);
  auto *texts = std::get_if<TextList>(&list);
  auto *text = std::get_if<std::string>(&x);
  if (!numbers && !texts)
    reporter.fail(Code::L13, at, "'contains' needs a list of constants first, found " + kindOf(list));
  if (numbers ? !isNumber(x) : !text)
    reporter.fail(Code::L13, at,
                  "'contains' looks for " + std::string(numbers ? "a number in a list of numbers" : "a text in a list of texts") +
                      ", found " + kindOf(x));
  return numbers ? std::find(numbers->begin(), numbers->end(), toDouble(x)) != numbers->end()
                 : std::find(texts->begin(), texts->end(), *text) != texts->end();
}

bool Evaluator::callConstant(const std::string &name, Location at, const std::vector<Value> &arguments, Value &result) {
  bool two = name == "min" || name == "max" || name == "contains";
  const std::vector<std::string> &known = constantFunctions();
  if (std::find(known.begin(), known.end(), name) == known.end())
    return false;
  if (arguments.size() != (two ? 2 : 1))
    reporter.fail(Code::L12, at,
                  "'" + name + "' takes " + (two ? "2 arguments" : "1 argument") + ", found " + std::to_string(arguments.size()));
  if (name == "size") {
    auto *numbers = std::get_if<NumberList>(&arguments[0]);
    auto *texts = std::get_if<TextList>(&arguments[0]);
    if (!numbers && !texts)
      reporter.fail(Code::L13, at, "'size' needs a list of constants, found " + kindOf(arguments[0]));
    result = static_cast<int64_t>(numbers ? numbers->size() : texts->size());
    return true;
  }
  if (name == "contains") {
    result = contains(reporter, at, arguments[0], arguments[1]);
    return true;
  }
  for (const Value &v : arguments)
    if (!isNumber(v))
      reporter.fail(Code::L9, at, "'" + name + "' of constants needs a number, found " + kindOf(v));
  if (two) {
    bool less = toDouble(arguments[0]) < toDouble(arguments[1]);
    result = less == (name == "min") ? arguments[0] : arguments[1];
    return true;
  }
  double x = toDouble(arguments[0]);
  if (name == "floor" || name == "ceil") {
    constexpr double most = 9e18;
    if (std::fabs(x) > most)
      reporter.fail(Code::L10, at, name + "(" + textOf(arguments[0]) + ") is beyond 64 bits");
    result = static_cast<int64_t>(name == "floor" ? std::floor(x) : std::ceil(x));
    return true;
  }
  double y = name == "sqrt"  ? std::sqrt(x)
             : name == "exp" ? std::exp(x)
             : name == "log" ? std::log(x)
                             : static_cast<double>(static_cast<float>(x));
  if (!std::isfinite(y))
    reporter.fail(Code::L10, at, name + "(" + textOf(arguments[0]) + ") is not a finite number");
  result = y;
  return true;
}

} // namespace npar::dsl
