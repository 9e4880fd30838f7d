// Reads the call of an optimizer: which declaration it names, its learning rate, and its other arguments.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/OptimizerElaborator.h"

#include <algorithm>
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
  CallReader(const KnownOptimizers &known, Settings *settings, Evaluator &evaluator, Scope &scope)
      : known(known), settings(settings), evaluator(evaluator), reporter(evaluator.reporter), scope(scope) {}

  OptimizerCall read(const ast::Expression &e) {
    const ast::Expression &callee = calleeOf(e, "an optimizer", known.names);
    OptimizerCall call;
    call.location = e.location;
    KnownOptimizers::Found found = find(callee);
    call.declaration = found.declaration, call.standard = found.standard;
    std::vector<Formal> formals;
    for (const ast::Item &parameter : call.declaration->parameters)
      formals.push_back({parameter.name.text, parameter.value != nullptr});
    if (formals.empty() || formals.front().name != "lr")
      reporter.fail(call.declaration->name.location, "the first argument of an optimizer is its learning rate 'lr'",
                    {"write `optimizer " + callee.text + "(lr, ...)`"});
    std::vector<const ast::Argument *> given =
        matchArguments(reporter, "'" + callee.text + "'", e.location, formals, e.suffixes[0].arguments);
    Scope defaults;
    for (size_t i = 0; i < formals.size(); ++i) {
      const Setting *setting = settings ? settings->find("optimizer." + formals[i].name) : nullptr;
      const ast::Item &parameter = call.declaration->parameters[i];
      const ast::Expression *value = setting ? setting->value.get() : given[i] ? given[i]->value.get() : nullptr;
      if (i == 0) {
        call.rate = rate(value ? *value : *parameter.value);
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
  /// The name in `Name(arguments)`.
  const ast::Expression &calleeOf(const ast::Expression &e, const std::string &what, const std::vector<std::string> &names) {
    if (e.kind != ast::ExpressionKind::Suffixed || e.items[0]->kind != ast::ExpressionKind::Name || e.suffixes.size() != 1 ||
        e.suffixes[0].kind != ast::SuffixKind::Call)
      reporter.fail(e.location, what + " is written as a call of " + joined(names));
    return *e.items[0];
  }

  KnownOptimizers::Found find(const ast::Expression &callee) {
    if (KnownOptimizers::Found found = known.find(callee.text); found.declaration)
      return found;
    Helps helps = didYouMean(callee.text, known.names);
    if (const char *reason = whyNot(callee.text))
      helps = {"it needs " + std::string(reason) + "; an optimizer's formula is for one element of a parameter"};
    else if (helps.empty())
      helps = {"it is one of " + joined(known.names),
               "or declare it: `optimizer " + callee.text + "(lr) { update(w, g) { w = w - lr * g } }`"};
    reporter.fail(callee.location, "unknown optimizer '" + callee.text + "'", helps);
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
      reporter.fail(at.location, "'" + name + "' must be " + std::to_string(expected->size()) + " numbers",
                    {"write " + name + " = " + example + ")"});
    }
    if (value.index() != fallback.index())
      reporter.fail(at.location, "'" + name + "' must be " + kindOf(fallback) + ", this is " + kindOf(value));
  }

  double atLeastZero(const ast::Expression &e, const std::string &what) {
    double value = evaluator.number(e, scope, what);
    if (!(value >= 0))
      reporter.fail(e.location, what + " is " + textOf(value) + ", it must not be negative");
    return value;
  }

  int64_t steps(const ast::Expression &e, const std::string &what) {
    int64_t value = evaluator.integer(e, scope, what);
    if (value < 0)
      reporter.fail(e.location, what + " is " + std::to_string(value) + ", it must not be negative");
    return value;
  }

  LearningRate rate(const ast::Expression &e) {
    LearningRate r;
    const std::vector<std::string> &functions = constantFunctions();
    if (e.kind != ast::ExpressionKind::Suffixed || std::find(functions.begin(), functions.end(), e.items[0]->text) != functions.end()) {
      r.peak = atLeastZero(e, "the learning rate");
      return r;
    }
    static const std::map<std::string, std::pair<ScheduleKind, std::vector<Formal>>> forms = {
        {"constant", {ScheduleKind::Constant, {{"peak"}, {"warmup", true}}}},
        {"linear", {ScheduleKind::Linear, {{"peak"}, {"warmup", true}, {"steps"}, {"final", true}}}},
        {"cosine", {ScheduleKind::Cosine, {{"peak"}, {"warmup", true}, {"steps"}, {"final", true}}}},
        {"step", {ScheduleKind::Step, {{"peak"}, {"warmup", true}, {"factor"}, {"every"}}}},
        {"exponential", {ScheduleKind::Exponential, {{"peak"}, {"warmup", true}, {"factor"}, {"every", true}}}}};
    std::vector<std::string> names;
    for (const auto &form : forms)
      names.push_back(form.first);
    const ast::Expression &callee = calleeOf(e, "a learning rate", names);
    auto form = forms.find(callee.text);
    if (form == forms.end()) {
      Helps helps = didYouMean(callee.text, names);
      reporter.fail(callee.location, "unknown learning rate '" + callee.text + "'",
                    helps.empty() ? Helps{"it is one of " + joined(names)} : helps);
    }
    std::vector<const ast::Argument *> given =
        matchArguments(reporter, "'" + callee.text + "'", e.location, form->second.second, e.suffixes[0].arguments);
    auto value = [&](size_t i) { return i < given.size() && given[i] ? given[i]->value.get() : nullptr; };
    r.kind = form->second.first;
    r.peak = atLeastZero(*value(0), "the peak of the learning rate");
    r.warmup = value(1) ? steps(*value(1), "the warm-up") : 0;
    if (r.kind == ScheduleKind::Constant)
      return r;
    if (r.hasFactor()) {
      r.factor = evaluator.number(*value(2), scope, "the factor of the learning rate");
      if (!(r.factor > 0 && r.factor <= 1))
        reporter.fail(value(2)->location, "the factor of the learning rate is " + textOf(r.factor) + ", it must be above 0 and at most 1");
      r.every = value(3) ? steps(*value(3), "the number of steps between changes of the learning rate") : 1;
      if (r.every < 1)
        reporter.fail(value(3)->location, "the learning rate changes every 0 steps, it must be at least 1");
      return r;
    }
    r.steps = steps(*value(2), "the number of steps");
    r.final = value(3) ? atLeastZero(*value(3), "the final learning rate") : 0;
    if (r.steps <= r.warmup)
      reporter.fail(value(2)->location,
                    "the schedule ends at step " + std::to_string(r.steps) + ", within its warm-up of " + std::to_string(r.warmup),
                    {"steps must be at least " + std::to_string(r.warmup + 1)});
    return r;
  }

  const KnownOptimizers &known;
  Settings *settings;
  Evaluator &evaluator;
  Reporter &reporter;
  Scope &scope;
};

} // namespace

OptimizerCall readOptimizerCall(const ast::Expression &call, const KnownOptimizers &known, Settings *settings, Evaluator &evaluator,
                                Scope &scope) {
  return CallReader(known, settings, evaluator, scope).read(call);
}

} // namespace npar::dsl
