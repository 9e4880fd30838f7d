// Evaluates constant expressions with checked arithmetic.
#include "dsl/constants/Evaluate.h"
#include "dsl/Suggestions.h"

#include <cmath>
#include <cstdio>

namespace npar::dsl {

std::string textOf(double number) {
  char text[40];
  for (int digits : {6, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, number);
    if (std::strtod(text, nullptr) == number)
      break;
  }
  return text;
}

std::string beyondFloat32(double number) {
  if (number == 0 || (std::fabs(number) >= smallestNumber && std::fabs(number) <= largestNumber))
    return "";
  return textOf(number) + ", which float32 cannot hold (0, and " + textOf(smallestNumber) + " to " + textOf(largestNumber) + ")";
}

std::string textOf(const Value &value) {
  if (auto *i = std::get_if<int64_t>(&value))
    return std::to_string(*i);
  if (auto *d = std::get_if<double>(&value))
    return textOf(*d);
  if (auto *b = std::get_if<bool>(&value))
    return *b ? "true" : "false";
  if (auto *s = std::get_if<std::string>(&value))
    return '"' + *s + '"';
  std::string entries;
  if (auto *numbers = std::get_if<NumberList>(&value))
    for (double each : *numbers)
      entries += (entries.empty() ? "" : ", ") + textOf(each);
  else if (auto *texts = std::get_if<TextList>(&value))
    for (const std::string &each : *texts)
      entries += (entries.empty() ? "\"" : ", \"") + each + '"';
  else
    return kindOf(value);
  return '[' + entries + ']';
}

std::string kindOf(const Value &value) {
  static const char *const words[] = {"nothing",   "an integer",      "a number",     "a truth value", "a text",
                                      "an axis",   "a tensor",        "a parameter",  "a layer",       "none",
                                      "a formula", "several numbers", "several texts"};
  if (auto *axis = std::get_if<AxisValue>(&value); axis && axis->group)
    return "a list of axes";
  return words[value.index()];
}

Binding *Scope::findHere(const std::string &name) {
  auto it = bindings.find(name);
  return it == bindings.end() ? nullptr : &it->second;
}

Binding *Scope::find(const std::string &name) {
  for (Scope *s = this; s; s = s->parent)
    if (Binding *b = s->findHere(name))
      return b;
  return nullptr;
}

std::vector<std::string> Scope::names() const {
  std::vector<std::string> result;
  for (const Scope *s = this; s; s = s->parent)
    for (const auto &entry : s->bindings)
      result.push_back(entry.first);
  return result;
}

const std::vector<std::string> &constantFunctions() {
  static const std::vector<std::string> names = {"sqrt", "exp", "log", "floor", "ceil", "float32", "min", "max", "size", "contains"};
  return names;
}

Value Evaluator::evaluate(const ast::Expression &e, Scope &scope) {
  using ast::ExpressionKind;
  reporter.work(e.location);
  switch (e.kind) {
  case ExpressionKind::Integer:
    return e.integer;
  case ExpressionKind::Number:
    return e.number;
  case ExpressionKind::Boolean:
    return e.boolean;
  case ExpressionKind::Text:
    return e.text;
  case ExpressionKind::Name:
    return name(e, scope);
  case ExpressionKind::List:
    return list(e, scope);
  case ExpressionKind::Each:
    return each(e, scope);
  case ExpressionKind::Tuple:
    reporter.fail(Code::L12, e.location,
                  "several values in parentheses are allowed only as an argument of an optimizer, such as betas = (0.9, 0.95)");
  case ExpressionKind::Not:
    return invert(*e.items[0], scope);
  case ExpressionKind::Negate:
    return negate(e.location, evaluate(*e.items[0], scope));
  case ExpressionKind::Chain: {
    Value result = evaluate(*e.items[0], scope);
    for (size_t i = 0; i < e.operators.size(); ++i)
      result = combine(e.operators[i], e.places[i], result, evaluate(*e.items[i + 1], scope));
    return result;
  }
  case ExpressionKind::Suffixed:
    return suffixed(e, scope);
  }
  throw Stop{};
}

int64_t Evaluator::integer(const ast::Expression &e, Scope &scope, const std::string &what) {
  Value value = constant(e.location, evaluate(e, scope));
  if (auto *i = std::get_if<int64_t>(&value))
    return *i;
  std::string given = isNumber(value) ? textOf(value) : kindOf(value);
  bool whole = isNumber(value) && given.find_first_of(".ena") == std::string::npos; // 2.0 is a fraction that looks like none
  reporter.fail(Code::L9, e.location, what + " must be an integer, this is " + given + (whole ? ".0" : ""));
}

double Evaluator::number(const ast::Expression &e, Scope &scope, const std::string &what) {
  Value value = constant(e.location, evaluate(e, scope));
  if (!isNumber(value))
    reporter.fail(Code::L9, e.location, what + " must be a number, this is " + kindOf(value));
  if (std::string wrong = beyondFloat32(toDouble(value)); !wrong.empty())
    reporter.fail(Code::L9, e.location, what + " is " + wrong);
  return toDouble(value);
}

bool Evaluator::truth(const ast::Expression &e, Scope &scope, const std::string &what) {
  Value value = evaluate(e, scope);
  if (auto *b = std::get_if<bool>(&value))
    return *b;
  reporter.fail(Code::L9, e.location, what + " must be true or false, this is " + kindOf(value));
}

Value Evaluator::invert(const ast::Expression &operand, Scope &scope) { return !truth(operand, scope, "the operand of 'not'"); }

void Evaluator::require(const ast::Expression &e, std::string message, Scope &scope) {
  if (truth(e, scope, "the condition of 'require'"))
    return;
  if (e.kind == ast::ExpressionKind::Chain && e.operators.size() == 1 && e.operators[0] >= ast::Operator::Equal) {
    const std::string left = withValues(*e.items[0], scope), right = withValues(*e.items[1], scope);
    message += ": " + left + " " + ast::spelling(e.operators[0]) + " " + right + " does not hold";
  }
  reporter.fail(Code::L11, e.location, message);
}

std::string Evaluator::withValues(const ast::Expression &e, Scope &scope) {
  auto isCalculation = [](const ast::Expression &one) {
    return one.kind == ast::ExpressionKind::Chain &&
           std::all_of(one.operators.begin(), one.operators.end(), [](ast::Operator each) { return each >= ast::Operator::Add; });
  };
  if (!isCalculation(e))
    return textOf(constant(e.location, evaluate(e, scope)));
  std::string text;
  for (size_t i = 0; i < e.items.size(); ++i) {
    const std::string item = withValues(*e.items[i], scope);
    text +=
        (i == 0 ? "" : " " + std::string(ast::spelling(e.operators[i - 1])) + " ") + (isCalculation(*e.items[i]) ? "(" + item + ")" : item);
  }
  return text;
}

Value Evaluator::name(const ast::Expression &e, Scope &scope) {
  Binding *binding = scope.find(e.text);
  if (!binding && e.text == "none")
    return None{};
  if (!binding)
    reporter.fail(Code::L5, e.location, "unknown name '" + e.text + "'", didYouMean(e.text, scope.names()));
  if (std::holds_alternative<Poison>(binding->value))
    throw Stop{};
  return binding->value;
}

Value Evaluator::constant(Location, const Value &value) { return value; }

Value Evaluator::list(const ast::Expression &e, Scope &scope) { return constants(e, scope); }

Value Evaluator::suffixed(const ast::Expression &e, Scope &scope) {
  const ast::Expression &callee = *e.items[0];
  const ast::Suffix &suffix = e.suffixes[0];
  if (suffix.kind == ast::SuffixKind::Select && e.suffixes.size() == 1)
    return entry(evaluate(callee, scope), suffix, scope);
  if (callee.kind != ast::ExpressionKind::Name || suffix.kind != ast::SuffixKind::Call || e.suffixes.size() != 1)
    reporter.fail(Code::L9, e.location, "only constants are allowed here");
  std::vector<Value> arguments;
  for (const ast::Argument &a : suffix.arguments)
    arguments.push_back(evaluate(*a.value, scope));
  Value result;
  if (!callConstant(callee.text, e.location, arguments, result))
    reporter.fail(Code::L5, callee.location, "unknown function '" + callee.text + "' of constants",
                  didYouMean(callee.text, constantFunctions()));
  return result;
}

std::vector<const ast::Argument *> matchArguments(Reporter &reporter, const std::string &what, Location at,
                                                  const std::vector<Formal> &formals, const std::vector<ast::Argument> &arguments,
                                                  const std::function<bool(const ast::Argument &)> &isFlag) {
  constexpr size_t most = 256;
  if (arguments.size() > most)
    reporter.fail(Code::L3, at, "a call with " + std::to_string(arguments.size()) + " arguments, at most " + std::to_string(most));
  std::vector<const ast::Argument *> slots(formals.size());
  std::vector<std::string> names;
  for (const Formal &f : formals)
    names.push_back(f.name);
  size_t position = 0;
  bool named = false;
  for (const ast::Argument &a : arguments) {
    size_t slot = 0;
    bool flag = a.name.text.empty() && isFlag && isFlag(a);
    const std::string &name = flag ? a.value->text : a.name.text;
    if (name.empty()) {
      if (named)
        reporter.fail(Code::L12, a.value->location, "an argument without a name after one with a name");
      slot = position++;
      if (slot >= formals.size())
        reporter.fail(Code::L12, a.value->location,
                      what + " takes " + std::to_string(formals.size()) + (formals.size() == 1 ? " argument" : " arguments") +
                          ", this is number " + std::to_string(position),
                      formals.empty() ? Helps{} : Helps{"it takes " + joined(names, "and")});
    } else {
      named = true;
      while (slot < formals.size() && formals[slot].name != name)
        ++slot;
      if (slot == formals.size()) {
        Helps helps = didYouMean(a.name.text, names);
        if (helps.empty() && !names.empty())
          helps.push_back("it takes " + joined(names, "and"));
        reporter.fail(Code::L12, a.name.location, what + " has no argument '" + a.name.text + "'", helps);
      }
    }
    if (slots[slot])
      reporter.fail(Code::L12, a.name.text.empty() ? a.value->location : a.name.location,
                    "argument '" + formals[slot].name + "' of " + what + " is given twice");
    if (!a.unit.text.empty() && !formals[slot].takesUnit)
      reporter.fail(Code::L12, a.unit.location, "argument '" + formals[slot].name + "' of " + what + " has no unit",
                    {"remove '" + a.unit.text + "'"});
    slots[slot] = &a;
  }
  for (size_t i = 0; i < formals.size(); ++i)
    if (!slots[i] && !formals[i].optional)
      reporter.fail(Code::L12, at,
                    what + " needs argument '" + formals[i].name + "' (number " + std::to_string(i + 1) + " of " +
                        std::to_string(formals.size()) + ")",
                    {"it takes " + joined(names, "and")});
  return slots;
}

} // namespace npar::dsl
