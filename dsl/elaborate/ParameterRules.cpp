// Reads the rules of a train block for parameters and applies them to the parameters of a model.
#include "dsl/elaborate/ParameterRules.h"
#include "dsl/Suggestions.h"
#include "dsl/elaborate/NamePattern.h"

#include <algorithm>
#include <cmath>

namespace npar::dsl {
namespace {

std::vector<ParameterPattern> patternsOf(const std::vector<ast::Name> &names) {
  std::vector<ParameterPattern> result;
  for (const ast::Name &name : names)
    result.push_back({name.text, name.location});
  return result;
}

/// "*.bias *norm*", with what is excepted after " except ".
std::string groupOf(const ast::ParameterRule &rule) {
  std::string text;
  for (const ast::Name &name : rule.patterns)
    text += (text.empty() ? "" : " ") + name.text;
  for (size_t i = 0; i < rule.except.size(); ++i)
    text += (i ? " " : " except ") + rule.except[i].text;
  return text;
}

double valueOf(const ast::GroupChange &change, Evaluator &evaluator, Scope &scope) {
  bool rate = change.name.text == "lr";
  if (rate && !change.times)
    evaluator.reporter.fail(Code::T5, change.name.location, "a rule cannot set a learning rate, it can only multiply the optimizer's",
                            {"write `lr * 0.1`"});
  if (!rate && change.times)
    evaluator.reporter.fail(Code::T5, change.name.location, "'decay' needs a number, which replaces the optimizer's", {"write `decay 0`"});
  const std::string what = rate ? "the factor of the learning rate" : "the decay";
  double value = evaluator.number(*change.value, scope, what);
  if (rate && !(value > 0))
    evaluator.reporter.fail(Code::T5, change.value->location, what + " is " + textOf(value) + ", it must be above 0",
                            {"`freeze` keeps parameters as they are"});
  if (!(value >= 0))
    evaluator.reporter.fail(Code::T5, change.value->location, what + " is " + textOf(value) + ", it must not be negative");
  return value;
}

ParameterRule readRule(const ast::ParameterRule &source, Evaluator &evaluator, Scope &scope,
                       const std::function<size_t(const ast::Expression &)> &optimizer) {
  ParameterRule rule;
  rule.freeze = source.freeze;
  rule.patterns = patternsOf(source.patterns);
  rule.except = patternsOf(source.except);
  rule.isNamed = source.group.has_value();
  rule.group = source.group ? source.group->text : groupOf(source);
  rule.location = source.location;
  for (const ast::GroupChange &change : source.changes) {
    if (change.name.text == "optimizer") {
      if (rule.optimizer)
        evaluator.reporter.fail(Code::T5, change.name.location, "'optimizer' is given twice");
      if (change.times)
        evaluator.reporter.fail(Code::T5, change.name.location, "'optimizer' needs a call", {"write `optimizer Sgd(lr = 0.1)`"});
      rule.optimizer = optimizer(*change.value);
      continue;
    }
    if (change.name.text == "statistics") {
      if (rule.freezesStatistics)
        evaluator.reporter.fail(Code::T5, change.name.location, "'statistics' is given twice");
      if (change.times || change.value->kind != ast::ExpressionKind::Name || change.value->text != "frozen")
        evaluator.reporter.fail(Code::T5, change.name.location, "'statistics' can only be frozen", {"write `statistics frozen`"});
      rule.freezesStatistics = true;
      continue;
    }
    if (change.name.text != "lr" && change.name.text != "decay") {
      Helps helps = didYouMean(change.name.text, {"lr", "decay", "optimizer", "statistics"});
      evaluator.reporter.fail(Code::T5, change.name.location, "a rule for parameters has no '" + change.name.text + "'",
                              helps.empty() ? Helps{"it has lr, decay, optimizer and statistics"} : helps);
    }
    std::optional<double> &value = change.name.text == "lr" ? rule.rate : rule.decay;
    if (value)
      evaluator.reporter.fail(Code::T5, change.name.location, "'" + change.name.text + "' is given twice");
    value = valueOf(change, evaluator, scope);
  }
  return rule;
}

bool matches(const std::vector<ParameterPattern> &patterns, const std::string &path) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const ParameterPattern &each) { return matchesName(each.text, path); });
}

bool freezesStatistics(const ParameterRule &rule, const std::string &path) {
  return rule.freezesStatistics && matches(rule.patterns, path) && !matches(rule.except, path);
}

/// Rules against the parameters of one model.
class Application {
public:
  Application(const std::vector<OptimizerCall> &calls, bool damped, Reporter &reporter, const Model &model, Train &train)
      : calls(calls), damped(damped), reporter(reporter), model(model), train(train), asked(model.parameters.size(), 0) {}

  void run(const std::vector<ParameterRule> &rules) {
    train.parameters.resize(model.parameters.size());
    std::vector<std::string> names{"other"};
    std::vector<int> groups(model.parameters.size(), 0); // by name
    std::vector<std::vector<size_t>> chosen;
    for (const ParameterRule &rule : rules) {
      chosen.push_back(choose(rule));
      for (size_t i : chosen.back())
        apply(rule, i, names, groups);
    }
    for (size_t i = 0; i < rules.size(); ++i)
      if (!rules[i].freeze && !rules[i].freezesStatistics && !chosen[i].empty() && isFrozen(chosen[i]))
        reporter.warning(rules[i].location, "all parameters that this is for are frozen");
    warnHidden(rules, chosen);
    bool trained = false;
    for (size_t i = 0; i < model.parameters.size(); ++i)
      trained |= isTrained(i);
    auto last = std::find_if(rules.rbegin(), rules.rend(), [](const ParameterRule &rule) { return rule.freeze; });
    if (!trained && last != rules.rend())
      reporter.error(Code::T5, last->location, "every parameter is frozen: nothing is trained",
                     {"`freeze \"*\" except \"...\"` leaves some out"});
    number(names, groups);
    chooseOptimizers(rules);
  }

private:
  /// Warns of each rule whose learning rate, decay or optimizer later rules replace for all its parameters.
  void warnHidden(const std::vector<ParameterRule> &rules, const std::vector<std::vector<size_t>> &chosen) {
    auto check = [&](auto value, const char *what) {
      std::vector<size_t> last(model.parameters.size(), rules.size()); // the rule whose value a parameter has
      for (size_t rule = 0; rule < rules.size(); ++rule)
        for (size_t parameter : chosen[rule])
          if (rules[rule].*value)
            last[parameter] = rule;
      for (size_t rule = 0; rule < rules.size(); ++rule) {
        auto holds = [&, rule = rule](size_t parameter) { return last[parameter] == rule; };
        if (rules[rule].*value && !chosen[rule].empty() && std::none_of(chosen[rule].begin(), chosen[rule].end(), holds))
          reporter.warning(rules[rule].location,
                           std::string("the ") + what + " of this has no effect: later rules give all its parameters another one",
                           {"put what is more general first"});
      }
    };
    check(&ParameterRule::rate, "learning rate");
    check(&ParameterRule::decay, "decay");
    check(&ParameterRule::optimizer, "optimizer");
  }

  bool isTrained(size_t parameter) const { return !train.parameters[parameter].frozen && !model.parameters[parameter].untrained; }

  /// The parameters that a rule is for. States have no learning rate, decay or optimizer; they can be frozen.
  std::vector<size_t> choose(const ParameterRule &rule) {
    std::vector<bool> chosen(model.parameters.size(), false);
    const bool states = rule.freeze || rule.freezesStatistics;
    for (const ParameterPattern &pattern : rule.patterns)
      if (!mark(pattern, chosen, true, states))
        reporter.error(Code::T5, pattern.location, "'" + pattern.text + "' matches no parameter", helpFor(pattern.text));
    for (const ParameterPattern &pattern : rule.except)
      if (!mark(pattern, chosen, false, states))
        reporter.error(Code::T5, pattern.location, "'" + pattern.text + "' matches no parameter that the rule is for",
                       helpFor(pattern.text));
    std::vector<size_t> result;
    for (size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i])
        result.push_back(i);
    if (result.empty() && !rule.except.empty())
      reporter.error(Code::T5, rule.location, "the rule is for no parameter: all that it names are excepted");
    return result;
  }

  /// Marks the parameters that the pattern matches. Tells whether it matched one, or, when it takes marks away, one that had a mark.
  bool mark(const ParameterPattern &pattern, std::vector<bool> &chosen, bool value, bool states) {
    bool any = false;
    for (size_t i = 0; i < chosen.size(); ++i) {
      reporter.work(pattern.location);
      if (!matchesName(pattern.text, model.parameters[i].path) || (model.parameters[i].untrained && !states))
        continue;
      any |= value || chosen[i];
      chosen[i] = value;
    }
    return any;
  }

  Helps helpFor(const std::string &pattern) {
    for (const CheckpointRule &rule : model.checkpoint)
      if (rule.kind == CheckpointRuleKind::Same && rule.file == pattern)
        return {"the tensor of that name in checkpoints is parameter '" + rule.model + "'"};
    auto matchesAny = [&](const std::string &other) {
      return std::any_of(model.parameters.begin(), model.parameters.end(), [&](const auto &p) { return matchesName(other, p.path); });
    };
    auto isState = [&](const auto &p) { return p.untrained && matchesName(pattern, p.path); };
    if (std::any_of(model.parameters.begin(), model.parameters.end(), isState))
      return {"it matches states of the model, which only `freeze` concerns"};
    if (matchesAny(pattern))
      return {};
    for (const std::string &wider : {pattern + "*", "*" + pattern, "*" + pattern + "*"})
      if (matchesAny(wider))
        return {"'*' stands for any text: \"" + wider + "\" matches some"};
    std::vector<std::string> paths;
    for (const Parameter &parameter : model.parameters)
      paths.push_back(parameter.path);
    Helps helps = didYouMean(pattern, paths);
    return helps.empty() ? Helps{"parameters are called like '" + paths.front() + "'"} : helps;
  }

  void apply(const ParameterRule &rule, size_t parameter, std::vector<std::string> &names, std::vector<int> &groups) {
    ParameterTraining &each = train.parameters[parameter];
    each.frozen |= rule.freeze;
    if (rule.freeze)
      return;
    const bool isOfStatisticsAlone = rule.freezesStatistics && !rule.rate && !rule.decay && !rule.optimizer && !rule.isNamed;
    if (isOfStatisticsAlone || model.parameters[parameter].untrained) // no group
      return;
    each.rate = rule.rate.value_or(each.rate);
    each.decay = rule.decay ? rule.decay : each.decay;
    asked[parameter] = rule.optimizer.value_or(asked[parameter]);
    auto name = std::find(names.begin(), names.end(), rule.group);
    groups[parameter] = static_cast<int>(name - names.begin());
    if (name == names.end())
      names.push_back(rule.group);
  }

  bool isFrozen(const std::vector<size_t> &parameters) {
    return std::all_of(parameters.begin(), parameters.end(), [&](size_t i) { return train.parameters[i].frozen; });
  }

  /// Numbers the optimizers with their decays in order of their first parameters, after the train block's own.
  void chooseOptimizers(const std::vector<ParameterRule> &rules) {
    if (std::any_of(calls.begin(), calls.end(), [](const OptimizerCall &call) { return !call.declaration; }) || calls.empty())
      return; // no train block, or an error was reported
    std::vector<std::pair<size_t, std::optional<double>>> known{{0, std::nullopt}};
    for (size_t i = 0; i < train.parameters.size(); ++i) {
      ParameterTraining &each = train.parameters[i];
      if (!isTrained(i))
        continue;
      const ast::Optimizer &declaration = *calls[asked[i]].declaration;
      bool decays =
          std::any_of(declaration.parameters.begin(), declaration.parameters.end(), [](const auto &p) { return p.name.text == "decay"; });
      if (each.decay && !decays)
        reporter.fail(Code::T5, ruleOfDecay(rules, i), "optimizer '" + declaration.name.text + "' has no decay", {"remove `decay`"});
      std::pair<size_t, std::optional<double>> wanted(asked[i], each.decay);
      auto found = std::find(known.begin(), known.end(), wanted);
      each.optimizer = static_cast<size_t>(found - known.begin());
      if (found != known.end())
        continue;
      known.push_back(wanted);
      train.optimizers.push_back(elaborateOptimizer(calls[asked[i]], each.decay, damped, reporter));
    }
  }

  Location ruleOfDecay(const std::vector<ParameterRule> &rules, size_t parameter) {
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
      for (const ParameterPattern &pattern : rule->patterns)
        if (rule->decay && matchesName(pattern.text, model.parameters[parameter].path))
          return rule->location;
    return train.location;
  }

  /// Groups that have a trained parameter, in order of their first one.
  void number(const std::vector<std::string> &names, const std::vector<int> &groups) {
    std::vector<int> numbers(names.size(), -1);
    for (size_t i = 0; i < groups.size(); ++i) {
      if (!isTrained(i))
        continue;
      int &group = numbers[static_cast<size_t>(groups[i])];
      if (group < 0) {
        group = static_cast<int>(train.groups.size());
        train.groups.push_back(names[static_cast<size_t>(groups[i])]);
      }
      train.parameters[i].group = group;
    }
  }

  const std::vector<OptimizerCall> &calls;
  bool damped;
  Reporter &reporter;
  const Model &model;
  Train &train;
  std::vector<size_t> asked; ///< the number of each parameter's call
};

} // namespace

std::vector<ParameterRule> readParameterRules(const std::vector<ast::ParameterRule> &rules, Evaluator &evaluator, Scope &scope,
                                              const std::function<size_t(const ast::Expression &)> &optimizer) {
  std::vector<ParameterRule> result;
  for (const ast::ParameterRule &rule : rules)
    try {
      if (!rule.condition || evaluator.truth(*rule.condition, scope, "the condition of a rule"))
        result.push_back(readRule(rule, evaluator, scope, optimizer));
    } catch (const Stop &) {
    }
  return result;
}

bool freezeStatistics(const std::vector<ParameterRule> &rules, const std::string &path) {
  return std::any_of(rules.begin(), rules.end(), [&](const ParameterRule &rule) { return freezesStatistics(rule, path); });
}

void checkFrozenStatistics(const std::vector<ParameterRule> &rules, const std::vector<std::string> &paths, Reporter &reporter) {
  for (const ParameterRule &rule : rules)
    if (rule.freezesStatistics &&
        std::none_of(paths.begin(), paths.end(), [&](const std::string &path) { return freezesStatistics(rule, path); }))
      reporter.error(Code::T5, rule.location, "'statistics frozen' names no running mean of a 'batch_norm'",
                     paths.empty() ? Helps{"the model has no 'batch_norm'"}
                                   : Helps{"the first one of the model is '" + paths.front() + "'"});
}

void applyParameterRules(const std::vector<ParameterRule> &rules, const std::vector<OptimizerCall> &calls, bool damped, Reporter &reporter,
                         const Model &model, Train &train) {
  Application(calls, damped, reporter, model, train).run(rules);
}

} // namespace npar::dsl
