// Reads the call of an optimizer: which declaration it names, and its arguments.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/LearningRate.h"
#include "dsl/elaborate/OptimizerElaborator.h"

#include <map>

namespace npar::dsl {
namespace {

/// Optimizers that formulas of one element cannot write, and why.
const char *whyNot(const std::string &word) {
  static const std::map<std::string, const char *> reasons = {
      {"lamb", "the norm of each whole parameter"},
      {"lars", "the norm of each whole parameter"},
      {"adafactor", "means over the rows and columns of each parameter"},
      {"muon", "products of matrices"},
      {"shampoo", "products of matrices"},
      {"soap", "products of matrices"},
      {"lbfgs", "several evaluations of the loss in each step"},
  };
  std::string lower;
  for (unsigned char letter : word)
    lower += static_cast<char>(std::tolower(letter));
  auto found = reasons.find(lower);
  return found == reasons.end() ? nullptr : found->second;
}

class CallReader {
public:
  CallReader(const KnownOptimizers &known, Settings *settings, int64_t batch, Evaluator &evaluator, Scope &scope)
      : known(known), settings(settings), batch(batch), evaluator(evaluator), reporter(evaluator.reporter), scope(scope) {}

  OptimizerCall read(const ast::Expression &e) {
    const ast::Expression &callee = calleeOf(e, "an optimizer", known.names, reporter);
    OptimizerCall call;
    call.location = e.location;
    KnownOptimizers::Found found = find(callee);
    call.declaration = found.declaration, call.standard = found.standard;
    std::vector<Formal> formals;
    for (const ast::Item &parameter : call.declaration->parameters)
      formals.push_back({parameter.name.text, parameter.value != nullptr});
    if (formals.empty() || formals.front().name != "lr")
      reporter.fail(Code::T2, call.declaration->name.location, "the first argument of an optimizer is its learning rate 'lr'",
                    {"write `optimizer " + callee.text + "(lr, ...)`"});
    std::vector<const ast::Argument *> given =
        matchArguments(reporter, "'" + callee.text + "'", e.location, formals, e.suffixes[0].arguments);
    Scope defaults;
    for (size_t i = 0; i < formals.size(); ++i) {
      const Setting *setting = settings ? settings->find("optimizer." + formals[i].name) : nullptr;
      const ast::Item &parameter = call.declaration->parameters[i];
      const ast::Expression *value = setting ? setting->value.get() : given[i] ? given[i]->value.get() : nullptr;
      if (i == 0) {
        call.rate = readLearningRate(value ? *value : *parameter.value, batch, evaluator, scope);
        continue;
      }
      Value fallback = parameter.value ? number(*parameter.value, defaults, formals[i].name) : Value(Poison{});
      Value argument = value ? number(*value, scope, formals[i].name) : fallback;
      if (value && parameter.value)
        checkKind(argument, fallback, *value, formals[i].name);
      defaults.bind(formals[i].name, argument, parameter.name.location);
      call.arguments.push_back({argument, value ? value->location : parameter.name.location});
    }
    return call;
  }

private:
  KnownOptimizers::Found find(const ast::Expression &callee) {
    if (KnownOptimizers::Found found = known.find(callee.text); found.declaration)
      return found;
    Helps helps = didYouMean(callee.text, known.names);
    if (const char *reason = whyNot(callee.text))
      helps = {"it needs " + std::string(reason) + "; an optimizer's formula is for one element of a parameter"};
    else if (helps.empty())
      helps = {"it is one of " + joined(known.names),
               "or declare it: `optimizer " + callee.text + "(lr) { update(w, g) { w = w - lr * g } }`"};
    reporter.fail(Code::T2, callee.location, "unknown optimizer '" + callee.text + "'", helps);
  }

  /// A number, several in parentheses, or a truth value.
  Value number(const ast::Expression &e, Scope &in, const std::string &name) {
    const std::string what = "'" + name + "'";
    if (e.kind == ast::ExpressionKind::Tuple || e.kind == ast::ExpressionKind::List) {
      NumberList list;
      for (const ast::ExpressionPtr &item : e.items)
        list.push_back(evaluator.number(*item, in, "each number of " + what));
      return list;
    }
    Value value = evaluator.evaluate(e, in);
    if (std::holds_alternative<bool>(value) || std::holds_alternative<NumberList>(value))
      return value;
    return evaluator.number(e, in, what);
  }

  void checkKind(const Value &value, const Value &fallback, const ast::Expression &at, const std::string &name) {
    auto *list = std::get_if<NumberList>(&value), *expected = std::get_if<NumberList>(&fallback);
    if (expected && (!list || list->size() != expected->size())) {
      std::string example;
      for (double each : *expected)
        example += (example.empty() ? "(" : ", ") + textOf(each);
      reporter.fail(Code::T2, at.location, "'" + name + "' must be " + std::to_string(expected->size()) + " numbers",
                    {"write " + name + " = " + example + ")"});
    }
    if (value.index() != fallback.index())
      reporter.fail(Code::T2, at.location, "'" + name + "' must be " + kindOf(fallback) + ", this is " + kindOf(value));
  }

  const KnownOptimizers &known;
  Settings *settings;
  int64_t batch;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
};

} // namespace

OptimizerCall readOptimizerCall(const ast::Expression &call, const KnownOptimizers &known, Settings *settings, int64_t batch,
                                Evaluator &evaluator, Scope &scope) {
  return CallReader(known, settings, batch, evaluator, scope).read(call);
}

} // namespace npar::dsl
