// Evaluates an optimizer's text with its arguments: what is constant becomes numbers, the rest becomes formulas.
#include "dsl/elaborate/OptimizerElaborator.h"
#include "dsl/Suggestions.h"
#include "dsl/elaborate/OptimizerFormulas.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace npar::dsl {
namespace {

using FormulaNode = OptimizerFormulas::Node;

/// Functions of formulas by the words of the language.
struct FormulaFunction {
  const char *word;
  size_t operands;
};
constexpr FormulaFunction formulaFunctions[] = {{"sqrt", 1}, {"exp", 1}, {"log", 1}, {"tanh", 1}, {"abs", 1},
                                                {"sign", 1}, {"pow", 2}, {"min", 2}, {"max", 2},  {"where", 3}};

class OptimizerElaborator : Evaluator {
public:
  OptimizerElaborator(const OptimizerCall &call, std::optional<double> decay, bool damped, Reporter &reporter)
      : Evaluator(reporter), call(call), declaration(*call.declaration), decay(decay), damped(damped) {}

  Optimizer run() {
    Reporter::Frame frame(reporter, call.location, "in optimizer '" + declaration.name.text + "', called here");
    result.name = declaration.name.text, result.standard = call.standard;
    result.rate = call.rate;
    bindArguments();
    requirements();
    if (declaration.updates.size() != 1)
      reporter.fail(Code::T3, declaration.updates.empty() ? declaration.name.location : declaration.updates[1].location,
                    "optimizer '" + declaration.name.text + "' " + (declaration.updates.empty() ? "has no update" : "has a second update"),
                    {"write one `update(w, g) { w = w - lr * g }`"});
    declareStates();
    update(declaration.updates.front());
    write();
    return std::move(result);
  }

private:
  /// A state, and what it is after the step.
  struct State {
    OptimizerState state;
    bool perElement = true;
    Location location;
    FormulaNode before = 0;
    std::optional<FormulaNode> after;
  };
  static constexpr size_t mostNodes = 2000, mostStates = 16;

  void bindArguments() {
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const ast::Name &name = declaration.parameters[i + 1].name;
      if (scope.findHere(name.text))
        reporter.fail(Code::T3, name.location, "'" + name.text + "' is declared twice");
      Value value = call.arguments[i].first;
      if (name.text == "decay" && decay)
        value = *decay;
      std::vector<double> numbers;
      if (auto *list = std::get_if<NumberList>(&value))
        numbers = *list;
      else if (isNumber(value))
        numbers = {toDouble(value)};
      else if (auto *truth = std::get_if<bool>(&value))
        numbers = {*truth ? 1.0 : 0.0};
      result.arguments.push_back({name.text, numbers, listText(value)});
      if (damped && name.text == "epsilon" && isNumber(value))
        value = std::max(toDouble(value), 1e-4);
      scope.bind(name.text, value, name.location);
    }
  }

  /// Reports a requirement that does not hold at the argument that it is about, if the call gives it.
  void requirements() {
    for (const ast::Requirement &requirement : declaration.requirements) {
      if (truth(*requirement.condition, scope, "the condition of 'require'"))
        continue;
      std::set<std::string> words;
      collectNames(*requirement.condition, words);
      Location at = requirement.condition->location;
      std::string value;
      for (size_t i = call.arguments.size(); i-- > 0;)
        if (const std::string &name = declaration.parameters[i + 1].name.text; words.count(name)) {
          at = call.arguments[i].second;
          value = name + " is " + listText(call.arguments[i].first) + ": ";
        }
      reporter.fail(Code::T3, at, value + requirement.message);
    }
  }

  static std::string listText(const Value &value) {
    auto *list = std::get_if<NumberList>(&value);
    if (!list)
      return textOf(value);
    std::string text;
    for (double each : *list)
      text += (text.empty() ? "(" : ", ") + textOf(each);
    return text + ")";
  }

  static void collectNames(const ast::Expression &e, std::set<std::string> &words) {
    if (e.kind == ast::ExpressionKind::Name)
      words.insert(e.text);
    for (const ast::ExpressionPtr &item : e.items)
      collectNames(*item, words);
    for (const ast::Suffix &suffix : e.suffixes)
      for (const ast::Argument &argument : suffix.arguments)
        collectNames(*argument.value, words);
  }

  void declareStates() {
    for (const ast::OptimizerState &each : declaration.states)
      for (size_t i = 0; i < each.names.size(); ++i) {
        const ast::Name &name = each.names[i], &slot = each.paths[i] ? *each.paths[i] : name;
        if (Binding *before = scope.findHere(name.text)) {
          Helps helps;
          if (!std::holds_alternative<FormulaValue>(before->value))
            helps = {"give the state another name; checkpoints can keep this one: `state velocity as \"" + name.text + "\" = zeros`"};
          reporter.error(Code::T3, name.location, "'" + name.text + "' is declared twice", before->location, "first declared here", helps);
          throw Stop{};
        }
        if (states.size() == mostStates)
          reporter.fail(Code::T3, name.location, "an optimizer has at most " + std::to_string(mostStates) + " states");
        checkSlot(slot);
        if (each.shape && !each.shape->items.empty())
          reporter.fail(Code::T3, each.shape->location, "a state has one number for each element, or with `: []` one number in all");
        bool perElement = !each.shape;
        states.push_back(
            {{name.text, slot.text, initial(*each.initial)}, perElement, name.location, formulas.leaf(name.text, perElement), {}});
        scope.bind(name.text, FormulaValue{states.back().before}, name.location);
      }
  }

  void checkSlot(const ast::Name &slot) {
    bool isWord =
        !slot.text.empty() && std::all_of(slot.text.begin(), slot.text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    if (!isWord)
      reporter.fail(Code::T3, slot.location, "a state's name in checkpoints consists of letters, digits and '_'");
    for (const char *taken : {"master", "grad", "loss_scale", "good_streak", "good_steps"})
      if (slot.text == taken)
        reporter.fail(Code::T3, slot.location, "'" + slot.text + "' is a name of npar's own in checkpoints",
                      {"give the state another name"});
    for (const State &other : states)
      if (other.state.slot == slot.text)
        reporter.fail(Code::T3, slot.location, "two states are called '" + slot.text + "' in checkpoints");
  }

  double initial(const ast::Expression &e) {
    if (e.kind == ast::ExpressionKind::Name && !scope.find(e.text) && (e.text == "zeros" || e.text == "ones"))
      return e.text == "ones" ? 1 : 0;
    return number(e, scope, "the first value of a state");
  }

  void update(const ast::OptimizerUpdate &text) {
    if (text.values.size() < 2 || text.values.size() > 3)
      reporter.fail(Code::T3, text.location, "'update' names the weight, the gradient and, if it is needed, the step's number",
                    {"write `update(w, g)` or `update(w, g, t)`"});
    Scope inner(&scope);
    for (size_t i = 0; i < text.values.size(); ++i) {
      const ast::Name &name = text.values[i];
      if (inner.findHere(name.text) || scope.find(name.text) || name.text == "lr")
        reporter.fail(Code::T3, name.location, "'" + name.text + "' already has a meaning in this optimizer", {"give it another name"});
      inner.bind(name.text, FormulaValue{formulas.leaf(i < 2 ? name.text : "t", i < 2)}, name.location);
    }
    result.weight = text.values[0].text, result.gradient = text.values[1].text;
    inner.bind("lr", FormulaValue{formulas.leaf("lr", false)}, declaration.parameters[0].name.location);
    for (const ast::Item &line : text.lines) {
      Value value = evaluate(*line.value, inner);
      assign(line, asNode(line.value->location, value), inner, text);
    }
    if (!weight)
      reporter.fail(Code::T3, text.location, "the update does not change '" + result.weight + "'", {"write `" + result.weight + " = ...`"});
    for (const State &state : states)
      if (!state.after)
        reporter.fail(Code::T3, state.location, "the update does not change state '" + state.state.name + "'");
  }

  void assign(const ast::Item &line, FormulaNode value, Scope &inner, const ast::OptimizerUpdate &text) {
    const std::string &name = line.name.text;
    if (formulas.isTruth(value))
      reporter.fail(Code::T3, line.value->location, "'" + name + "' must be a number, this is a truth value",
                    {"write where(condition, x, y)"});
    auto state = std::find_if(states.begin(), states.end(), [&](const State &each) { return each.state.name == name; });
    if (state != states.end()) {
      if (!state->perElement && formulas.isPerElement(value))
        reporter.fail(Code::T3, line.value->location, "'" + name + "' is one number for all elements, this is one for each");
      state->after = value;
    } else if (name == result.weight) {
      weight = value;
    } else if (name == "lr" || (text.values.size() == 3 && name == text.values[2].text) || scope.find(name)) {
      reporter.fail(Code::T3, line.name.location, "'" + name + "' cannot be changed: only the weight and states are",
                    {"give the value another name"});
    }
    inner.bind(name, FormulaValue{value}, line.name.location);
  }

  FormulaNode asNode(Location at, const Value &value) {
    if (auto *formula = std::get_if<FormulaValue>(&value))
      return formula->node;
    if (!isNumber(value))
      reporter.fail(Code::T3, at, "a number is needed here, this is " + kindOf(value));
    return formulas.number(toDouble(value));
  }
  FormulaNode numberNode(Location at, const Value &value) {
    FormulaNode node = asNode(at, value);
    if (formulas.isTruth(node))
      reporter.fail(Code::T3, at, "a number is needed here, this is a truth value", {"write where(condition, x, y)"});
    return node;
  }

  Value apply(Location at, const std::string &function, std::vector<FormulaNode> operands) {
    if (formulas.size() > mostNodes)
      reporter.fail(Code::T3, at, "an optimizer with more than " + std::to_string(mostNodes) + " operations");
    return FormulaValue{formulas.apply(function, std::move(operands))};
  }

  Value combine(ast::Operator op, Location at, const Value &left, const Value &right) override {
    auto isFormula = [](const Value &value) { return std::holds_alternative<FormulaValue>(value); };
    if (!isFormula(left) && !isFormula(right))
      return Evaluator::combine(op, at, left, right);
    auto two = [&](const char *function, const Value &a, const Value &b) {
      return apply(at, function, {numberNode(at, a), numberNode(at, b)});
    };
    auto inverse = [&](const Value &value) { return apply(at, "not", {std::get<FormulaValue>(value).node}); };
    switch (op) {
    case ast::Operator::Add:
      return two("add", left, right);
    case ast::Operator::Subtract:
      return two("sub", left, right);
    case ast::Operator::Multiply:
      return two("mul", left, right);
    case ast::Operator::Divide:
      return two("div", left, right);
    case ast::Operator::Less:
      return two("less", left, right);
    case ast::Operator::Greater:
      return two("less", right, left);
    case ast::Operator::GreaterEqual:
      return combine(ast::Operator::LessEqual, at, right, left);
    case ast::Operator::LessEqual:
      return apply(at, "or",
                   {std::get<FormulaValue>(two("less", left, right)).node, std::get<FormulaValue>(two("equal", left, right)).node});
    case ast::Operator::Equal:
      return two("equal", left, right);
    case ast::Operator::NotEqual:
      return inverse(two("equal", left, right));
    case ast::Operator::And:
    case ast::Operator::Or:
      return logical(op, at, left, right);
    case ast::Operator::Modulo:
      break;
    }
    reporter.fail(Code::T3, at, "'%' is for integers that are constants");
  }

  Value logical(ast::Operator op, Location at, const Value &left, const Value &right) {
    bool isAnd = op == ast::Operator::And;
    for (auto [one, other] : {std::pair(&left, &right), std::pair(&right, &left)})
      if (auto *known = std::get_if<bool>(one))
        return *known == isAnd ? *other : Value(*known);
    std::vector<FormulaNode> operands;
    for (const Value *value : {&left, &right}) {
      operands.push_back(asNode(at, *value));
      if (!formulas.isTruth(operands.back()))
        reporter.fail(Code::T3, at, std::string("'") + ast::spelling(op) + "' needs true or false on both sides, found a number");
    }
    return apply(at, isAnd ? "and" : "or", operands);
  }

  Value negate(Location at, const Value &value) override {
    return std::holds_alternative<FormulaValue>(value) ? apply(at, "neg", {numberNode(at, value)}) : Evaluator::negate(at, value);
  }

  Value invert(const ast::Expression &operand, Scope &in) override {
    Value value = evaluate(operand, in);
    if (auto *formula = std::get_if<FormulaValue>(&value); formula && formulas.isTruth(formula->node))
      return apply(operand.location, "not", {formula->node});
    if (auto *known = std::get_if<bool>(&value))
      return !*known;
    reporter.fail(Code::T3, operand.location, "the operand of 'not' must be true or false, this is " + kindOf(value));
  }

  Value suffixed(const ast::Expression &e, Scope &in) override {
    const ast::Expression &callee = *e.items[0];
    const ast::Suffix &suffix = e.suffixes[0];
    if (callee.kind == ast::ExpressionKind::Name && e.suffixes.size() == 1 && suffix.kind == ast::SuffixKind::Select)
      return selected(e, in);
    if (callee.kind != ast::ExpressionKind::Name || e.suffixes.size() != 1 || suffix.kind != ast::SuffixKind::Call)
      reporter.fail(Code::T3, e.location, "a formula has numbers, names, operators and calls of functions");
    auto function =
        std::find_if(std::begin(formulaFunctions), std::end(formulaFunctions), [&](const auto &f) { return callee.text == f.word; });
    if (function == std::end(formulaFunctions))
      unknownFunction(callee);
    if (suffix.arguments.size() != function->operands)
      reporter.fail(Code::T3, e.location,
                    "'" + callee.text + "' takes " + counted(static_cast<int64_t>(function->operands), "argument") + ", found " +
                        std::to_string(suffix.arguments.size()));
    std::vector<Value> values;
    for (const ast::Argument &argument : suffix.arguments)
      values.push_back(evaluate(*argument.value, in));
    return callFunction(e.location, callee.text, values);
  }

  Value callFunction(Location at, const std::string &word, const std::vector<Value> &values) {
    if (word == "where")
      return choose(at, values);
    bool isConstant = std::none_of(values.begin(), values.end(), [](const Value &v) { return std::holds_alternative<FormulaValue>(v); });
    Value value;
    if (isConstant && callConstant(word, at, values, value))
      return value;
    if (isConstant)
      return constantCall(at, word, values);
    std::vector<FormulaNode> operands;
    for (const Value &each : values)
      operands.push_back(numberNode(at, each));
    if (word == "sign" && damped) // of about the same size as the sign where the value is more than noise
      return apply(at, "div", {operands[0], formulas.apply("add", {formulas.apply("abs", {operands[0]}), formulas.number(1e-4)})});
    return apply(at, word, operands);
  }

  Value constantCall(Location at, const std::string &word, const std::vector<Value> &values) {
    double x = number(at, values[0]);
    double y = word == "pow"    ? std::pow(x, number(at, values[1]))
               : word == "tanh" ? std::tanh(x)
               : word == "abs"  ? std::fabs(x)
               : x > 0          ? 1.0
               : x < 0          ? -1.0
                                : x;
    if (!std::isfinite(y))
      reporter.fail(Code::T3, at, word + " of these numbers is not a finite number");
    return y;
  }
  double number(Location at, const Value &value) {
    if (!isNumber(value))
      reporter.fail(Code::T3, at, "a number is needed here, this is " + kindOf(value));
    return toDouble(value);
  }
  using Evaluator::number;

  Value choose(Location at, const std::vector<Value> &values) {
    if (auto *known = std::get_if<bool>(&values[0]))
      return *known ? values[1] : values[2];
    FormulaNode condition = asNode(at, values[0]);
    if (!formulas.isTruth(condition))
      reporter.fail(Code::T3, at, "the first argument of 'where' must be true or false, this is a number");
    return apply(at, "select", {condition, numberNode(at, values[1]), numberNode(at, values[2])});
  }

  /// `betas[0]`
  Value selected(const ast::Expression &e, Scope &in) {
    Value value = name(*e.items[0], in);
    auto *list = std::get_if<NumberList>(&value);
    const std::vector<ast::Argument> &arguments = e.suffixes[0].arguments;
    if (!list)
      reporter.fail(Code::T3, e.location, "'" + e.items[0]->text + "' is " + kindOf(value) + ", it cannot be indexed");
    if (arguments.size() != 1 || !arguments[0].name.text.empty())
      reporter.fail(Code::T3, e.location, "one number of an argument is chosen by its index", {"write " + e.items[0]->text + "[0]"});
    int64_t index = integer(*arguments[0].value, in, "the index");
    if (index < 0 || index >= static_cast<int64_t>(list->size()))
      reporter.fail(Code::T3, e.location,
                    "'" + e.items[0]->text + "' has " + counted(static_cast<int64_t>(list->size()), "number") + ", the index is " +
                        std::to_string(index));
    return (*list)[static_cast<size_t>(index)];
  }

  [[noreturn]] void unknownFunction(const ast::Expression &callee) {
    std::vector<std::string> names;
    for (const FormulaFunction &function : formulaFunctions)
      names.push_back(function.word);
    for (const char *whole : {"sum", "mean", "norm", "einsum", "project", "softmax", "max_over", "matmul"})
      if (callee.text == whole)
        reporter.fail(Code::T3, callee.location, "'" + callee.text + "' needs several elements: an optimizer's formula is for one element",
                      {"its functions are " + joined(names, "and")});
    Helps helps = didYouMean(callee.text, names);
    reporter.fail(Code::T3, callee.location, "unknown function '" + callee.text + "' of an optimizer",
                  helps.empty() ? Helps{"its functions are " + joined(names, "and")} : helps);
  }

  /// Writes the formulas of what the weight depends on: a momentum of 0 needs no state.
  void write() {
    std::vector<FormulaNode> wanted{*weight};
    std::vector<bool> kept(states.size());
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < states.size(); ++i)
        if (!kept[i] &&
            std::any_of(wanted.begin(), wanted.end(), [&](FormulaNode node) { return formulas.dependsOn(node, states[i].before); })) {
          kept[i] = more = true;
          wanted.push_back(*states[i].after);
        }
    }
    std::vector<FormulaNode> elements{*weight}, steps, newStepStates;
    for (size_t i = 0; i < states.size(); ++i)
      if (kept[i]) {
        (states[i].perElement ? result.states : result.stepStates).push_back(states[i].state);
        (states[i].perElement ? elements : newStepStates).push_back(*states[i].after);
      }
    result.element = formulas.writeElement(elements, steps);
    steps.insert(steps.end(), newStepStates.begin(), newStepStates.end());
    result.step = formulas.writeStep(steps);
  }

  const OptimizerCall &call;
  const ast::Optimizer &declaration;
  std::optional<double> decay;
  bool damped;
  Scope scope;
  OptimizerFormulas formulas;
  std::vector<State> states;
  std::optional<FormulaNode> weight;
  Optimizer result;
};

} // namespace

Optimizer elaborateOptimizer(const OptimizerCall &call, std::optional<double> decay, bool damped, Reporter &reporter) {
  return OptimizerElaborator(call, decay, damped, reporter).run();
}

} // namespace npar::dsl
