// The statements of models, layers and forward functions. One with an error is given up; what it declares becomes poison.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {

using ast::Statement;
using ast::StatementKind;

/// Tells whether some samples may not count (LOSSES.md): not if a loss that the model has in any case plainly ignores no targets.
static bool mayFill(const ast::Block &model, Scope &scope) {
  auto isNone = [&](const ast::Expression &e) {
    const Binding *known = e.kind == ast::ExpressionKind::Name ? scope.find(e.text) : nullptr;
    return known ? std::holds_alternative<None>(known->value) : e.kind == ast::ExpressionKind::Name && e.text == "none";
  };
  auto isAssigned = [&](const std::string &name) {
    return std::any_of(model.body.begin(), model.body.end(), [&](const Statement &s) { return s.name.text == name; });
  };
  auto countsEverywhere = [&](const Statement &s) {
    if (s.kind != StatementKind::Loss)
      return false;
    const ast::Expression &e = *s.value;
    if (e.kind == ast::ExpressionKind::Chain) // arithmetic, which cannot ignore targets
      return true;
    if (e.kind != ast::ExpressionKind::Suffixed || e.items[0]->kind != ast::ExpressionKind::Name || isAssigned(e.items[0]->text))
      return false;
    const Operation *operation = findOperation(e.items[0]->text);
    if (!operation)
      return false;
    auto isIgnore = [](const OperationFormal &formal) { return formal.name == "ignore"; };
    const auto place = std::find_if(operation->formals.begin(), operation->formals.end(), isIgnore) - operation->formals.begin();
    const std::vector<ast::Argument> &arguments = e.suffixes[0].arguments;
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].name.text == "ignore" || (arguments[i].name.text.empty() && i >= static_cast<size_t>(place)))
        return isNone(*arguments[i].value);
    return true;
  };
  return std::none_of(model.body.begin(), model.body.end(), countsEverywhere);
}

/// True if a cross entropy compares the values with targets along their last axis.
static bool areScores(const Model &model, int values) {
  const std::vector<std::string> &axes = model.nodes[static_cast<size_t>(values)].type.axes;
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) {
    return node.op == "cross_entropy" && node.operands[0] == values && std::get<std::string>(node.attributes.at("axis")) == axes.back();
  });
}

void ModelElaborator::run(const ast::Block &model, Scope &scope, Purpose purpose) {
  graph.model.name = model.name.text;
  graph.model.location = model.name.location;
  text = &model;
  graph.mayFill = mayFill(model, scope);
  try {
    execute(model.body, scope, Body::Model);
  } catch (const Stop &) { // a condition of the model does not hold
  }
  if (values) {
    for (const ast::Item &constant : model.parameters) // a configuration may have bound it somewhere else
      if (const Binding *bound = scope.findHere(constant.name.text))
        note(constant.name.text, bound->value, constant.name.location, "");
    note(scope, "");
    for (const auto &each : instances)
      note(each->scope, each->path);
  }
  if (reporter.errorCount() == 0)
    checkPurpose(model, purpose);
  checkLosses();
  for (Prediction &prediction : graph.model.predictions)
    prediction.scores = areScores(graph.model, prediction.node);
  resolveCheckpoint(scope);
  if (reporter.errorCount() != 0)
    return;
  warnUnused();
  checkCheckpoint();
}

void ModelElaborator::note(const Scope &scope, const std::string &atPath) {
  for (const auto &[name, binding] : scope.own())
    if (!std::holds_alternative<TensorValue>(binding.value) ||
        graph.model.nodes[static_cast<size_t>(std::get<TensorValue>(binding.value).node)].op == "input")
      note(name, binding.value, binding.location, atPath);
}

void ModelElaborator::note(const std::string &name, const Value &value, Location at, const std::string &atPath) {
  if (!values)
    return;
  NamedValue noted{NamedValue::Kind::Constant, at, name, atPath, "", {}, {}, ""};
  if (auto *tensor = std::get_if<TensorValue>(&value)) {
    const Node &node = graph.model.nodes[static_cast<size_t>(tensor->node)];
    noted.kind = NamedValue::Kind::Tensor, noted.type = node.type, noted.node = node.location, noted.nodePath = node.path;
  } else if (auto *parameter = std::get_if<ParameterValue>(&value)) {
    const Parameter &of = graph.model.parameters[parameter->index];
    noted.kind = NamedValue::Kind::Parameter, noted.path = of.path, noted.type = of.type;
  } else if (auto *axes = std::get_if<AxisValue>(&value)) {
    noted.kind = NamedValue::Kind::Axes, noted.type.axes = axes->names;
  } else if (auto *layer = std::get_if<Instance *>(&value)) {
    noted.kind = NamedValue::Kind::Layer, noted.path = (*layer)->path;
  } else if (std::holds_alternative<Poison>(value) || std::holds_alternative<FormulaValue>(value)) {
    return;
  } else {
    noted.text = std::holds_alternative<None>(value) ? "none" : textOf(value);
  }
  values->push_back(std::move(noted));
}

void ModelElaborator::checkPurpose(const ast::Block &model, Purpose purpose) {
  const Model &made = graph.model;
  const std::string name = "model '" + model.name.text + "'";
  if (purpose == Purpose::Outputs && made.predictions.empty())
    reporter.fail(Code::A16, model.name.location, name + " has no outputs", {"write `output NAME` for each tensor to output"});
  if (needsLoss(purpose) ? !made.losses.empty() : hasResults(made))
    return;
  Helps helps = {"end it with `loss cross_entropy(logits, targets, over = vocab)`"};
  if (!made.predictions.empty())
    helps.push_back("without a loss it cannot be trained, but evaluated for its outputs");
  reporter.fail(Code::A16, model.name.location, name + " has no loss", helps);
}

Helps ModelElaborator::declaredLater(const ast::Name &name) const {
  std::vector<const Statement *> all;
  for (const Statement &s : instance ? instance->layer->body : text->body) {
    all.push_back(&s);
    for (const Statement &inner : s.body)
      all.push_back(&inner);
  }
  for (const Statement *s : all)
    if ((s->kind == StatementKind::Assign || s->kind == StatementKind::Param || s->kind == StatementKind::State) &&
        s->name.text == name.text && s->name.location.line > name.location.line)
      return {"'" + name.text + "' is declared below, in line " + std::to_string(s->name.location.line) + ": move that up"};
  return {};
}

void ModelElaborator::warnUnused() {
  std::vector<std::string> unused;
  auto isKeptLayer = [&](const std::string &path) {
    return std::any_of(graph.model.parameters.begin(), graph.model.parameters.end(),
                       [&](const Parameter &p) { return p.path.rfind(path + ".", 0) == 0 && isKept(p.path); });
  };
  for (const auto &i : instances)
    if (!i->used && (!i->parent || i->parent->used) && !isKeptLayer(i->path)) {
      unused.push_back(i->path);
      reporter.warning(i->location, "layer '" + i->path + "' is never called");
    }
  graph.finish(unused, [&](const std::string &parameter) { return isKept(parameter); });
  for (const Node &node : graph.model.nodes)
    if (node.op != "parameter" && node.op != countingNode && !findNodeKind(node.op))
      reporter.abort(Code::I1, node.location, "internal error: no operation makes '" + node.op + "'");
}

void ModelElaborator::execute(const std::vector<Statement> &statements, Scope &scope, Body body) {
  for (const Statement &s : statements) {
    reporter.work(s.location);
    if (body == Body::Forward && result)
      reporter.fail(Code::L14, s.location, "nothing can follow 'return'");
    try {
      statement(s, scope, body);
    } catch (const Stop &) {
      // An error inside a forward function invalidates its result, so the caller's statement is abandoned. If a `require` fails, the
      // statements after it would only repeat the complaint.
      if (body == Body::Forward || (s.kind == StatementKind::Require && body != Body::Repeat))
        throw;
      poison(s, scope);
    }
  }
}

void ModelElaborator::statement(const Statement &s, Scope &scope, Body body) {
  auto only = [&](bool allowed, const char *what, const char *where) {
    if (!allowed)
      reporter.fail(Code::L14, s.location, std::string("'") + what + "' is allowed only " + where);
  };
  switch (s.kind) {
  case StatementKind::Axis:
    only(body != Body::Forward, "axis", "in a model or a layer, outside of forward");
    return axis(s, scope);
  case StatementKind::Input:
    only(body == Body::Model, "input", "in a model");
    return input(s, scope);
  case StatementKind::Param:
  case StatementKind::State:
    only(body != Body::Forward, s.kind == StatementKind::Param ? "param" : "state", "in a model or a layer, outside of forward");
    return param(s, scope);
  case StatementKind::Update:
    only(body != Body::Layer, "update", "in a model or in forward");
    return update(s, scope);
  case StatementKind::Log:
    only(body != Body::Layer, "log", "in a model or in forward");
    return log(s, scope);
  case StatementKind::Repeat:
    only(body == Body::Model || body == Body::Repeat, "repeat", "in a model");
    return repeat(s, scope, body);
  case StatementKind::If:
    return condition(s, scope, body);
  case StatementKind::Under:
    only(body != Body::Forward, "under", "in a model or a layer, outside of forward");
    return under(s, scope, body);
  case StatementKind::Checkpoint:
    only(body == Body::Model && graph.path.empty(), "checkpoint", "in a model, outside of repeat and under");
    return collectCheckpoint(s);
  case StatementKind::Loss:
    only(body == Body::Model, "loss", "in a model, outside of repeat");
    return loss(s, scope);
  case StatementKind::Metric:
    only(body == Body::Model, "metric", "in a model, outside of repeat");
    return metric(s, scope);
  case StatementKind::Output:
    only(body == Body::Model, "output", "in a model, outside of repeat");
    return prediction(s, scope);
  case StatementKind::Require:
    return require(*s.value, s.message, scope);
  case StatementKind::Forward:
    only(body == Body::Layer, "forward", "in a layer");
    return; // found when the layer was instantiated
  case StatementKind::Return:
    only(body == Body::Forward, "return", "in a forward function");
    result = evaluate(*s.value, scope);
    return;
  case StatementKind::Assign:
    return assign(s, scope, body);
  }
}

void ModelElaborator::poison(const Statement &s, Scope &scope) {
  auto spoil = [&](const std::string &name, Location at) {
    Binding *old = scope.find(name);
    bool hides = s.kind == StatementKind::Assign && old && isNumber(old->value) && !scope.findHere(name); // a layer may hide a constant
    if (!old || hides)
      scope.bind(name, Poison{}, at);
    else if (s.kind == StatementKind::Assign && std::holds_alternative<TensorValue>(old->value))
      old->value = Poison{};
  };
  if (s.kind == StatementKind::Axis || s.kind == StatementKind::Input)
    for (const ast::Item &item : s.items)
      spoil(item.name.text, item.name.location);
  if (s.kind == StatementKind::Param || s.kind == StatementKind::State || s.kind == StatementKind::Assign)
    spoil(s.name.text, s.name.location);
  if (s.kind == StatementKind::Under || s.kind == StatementKind::If)
    for (const auto *list : {&s.body, &s.otherwise})
      for (const Statement &inner : *list)
        poison(inner, scope);
}

/// Tells whether the name declared at a place is inside an `under` block.
static bool isUnder(const std::vector<Statement> &body, const Location &at, bool inside) {
  auto declares = [&](const ast::Name &name) { return name.location.line == at.line && name.location.column == at.column; };
  for (const Statement &s : body) {
    if (declares(s.name) || std::any_of(s.items.begin(), s.items.end(), [&](const ast::Item &item) { return declares(item.name); }))
      return inside;
    for (const auto *list : {&s.body, &s.otherwise})
      if (isUnder(*list, at, inside || s.kind == StatementKind::Under))
        return true;
  }
  return false;
}

void ModelElaborator::checkFresh(const ast::Name &name, Scope &scope, const std::string &path) {
  if (Binding *old = scope.find(name.text)) {
    if (std::holds_alternative<Poison>(old->value))
      throw Stop{};
    Helps helps;
    auto *layer = std::get_if<Instance *>(&old->value);
    auto *parameter = std::get_if<ParameterValue>(&old->value);
    const std::string before = layer ? (*layer)->path : parameter ? graph.model.parameters[parameter->index].path : path;
    if (before != path) {
      int number = 2;
      while (scope.find(name.text + "_" + std::to_string(number)))
        ++number;
      const std::vector<Statement> &body = instance ? instance->layer->body : text->body;
      bool under = isUnder(body, name.location, false) || isUnder(body, old->location, false);
      helps.push_back((under ? "`under` opens no scope: " : "names differ, whatever their paths: ") +
                      std::string("give it another name, by which it is used below, and its path: `") + name.text + "_" +
                      std::to_string(number) + " as \"" +
                      path.substr(std::min(path.size(), graph.path.empty() ? 0 : graph.path.size() + 1)) + "\"`");
    }
    bool state = parameter && graph.model.parameters[parameter->index].untrained;
    const std::string kind = state ? "a state" : kindOf(old->value);
    reporter.error(Code::L6, name.location, "'" + name.text + "' is already declared, as " + kind, old->location, "declared here", helps);
    throw Stop{};
  }
}

void ModelElaborator::checkNoForward(const std::vector<Statement> &statements, const char *of) {
  for (const Statement &inner : statements)
    if (inner.kind == StatementKind::Forward)
      reporter.fail(Code::L14, inner.location, std::string("'forward' is allowed only in a layer, outside of ") + of);
}

void ModelElaborator::condition(const Statement &s, Scope &scope, Body body) {
  checkNoForward(s.body, "if");
  checkNoForward(s.otherwise, "if");
  execute(truth(*s.value, scope, "the condition of 'if'") ? s.body : s.otherwise, scope, body);
}

/// The type of an input's values by its word.
static std::optional<ElementType> inputType(const std::string &word) {
  for (const program::ElementRow &row : program::elementRows)
    if (word == row.word && isInputType(row.type))
      return row.type;
  return std::nullopt;
}

/// The words of these types, integers first.
static std::vector<std::string> inputWords() {
  std::vector<std::string> words;
  for (bool floats : {false, true})
    for (const program::ElementRow &row : program::elementRows)
      if (isInputType(row.type) && isFloating(row.type) == floats)
        words.push_back(row.word);
  return words;
}

void ModelElaborator::input(const Statement &s, Scope &scope) {
  const std::string &element = s.name.text;
  const std::optional<ElementType> values = inputType(element);
  if (!values)
    reporter.fail(Code::A14, s.name.location, "unknown element type '" + element + "'",
                  {"the type of an input is " + joined(inputWords())});
  AxisValue shape = s.shape->items.empty() ? AxisValue{} : std::get<AxisValue>(list(*s.shape, scope));
  if (shape.names.empty() || shape.names[0] != "batch") {
    AxisNames right = without(shape.names, {"batch"});
    right.insert(right.begin(), "batch");
    reporter.fail(Code::A14, s.shape->location,
                  "the first axis of an input must be 'batch', followed by the axes of a sample; this one is over " + textOf(shape.names),
                  {"write `" + element + textOf(right) + "`"});
  }
  TensorType type = isFloating(*values) ? graph.floating(shape.names) : TensorType{*values, shape.names};
  for (const ast::Item &item : s.items) {
    checkFresh(item.name, scope);
    checkTensorName(item.name, "input");
    int node = graph.add(item.name.location, "input", {}, type, {{"name", item.name.text}}, shape.products);
    scope.bind(item.name.text, TensorValue{node}, item.name.location);
  }
}

void ModelElaborator::checkTensorName(const ast::Name &name, const std::string &what) {
  if (name.text == "__metadata__") // of safetensors
    reporter.fail(Code::L4, name.location, "no " + what + " can have the name '__metadata__': files with tensors describe themselves there",
                  {"give it another name"});
}

void ModelElaborator::param(const Statement &s, Scope &scope) {
  Parameter p;
  p.untrained = s.kind == StatementKind::State;
  const std::string what = p.untrained ? "state" : "parameter";
  p.path = pathOf(s.name, s.path, scope);
  checkFresh(s.name, scope, p.path);
  p.location = s.name.location;
  AxisNames names, products;
  for (const auto &dimension : s.shape->items) {
    AxisValue axis = axes(*dimension, scope, "a dimension of " + what + " '" + s.name.text + "'");
    if (contains(axis.names, "batch"))
      reporter.fail(Code::A14, dimension->location, "a " + what + " cannot have the axis 'batch': it is the same for the whole batch");
    names.insert(names.end(), axis.names.begin(), axis.names.end());
    products.insert(products.end(), axis.products.begin(), axis.products.end());
    p.storedRank.push_back(static_cast<int>(axis.names.size()));
  }
  p.type = graph.floating(names);
  checkIndexed(p, s.path ? s.path->location : s.name.location);
  setInitial(p, *s.value, scope);
  scope.bind(s.name.text, ParameterValue{graph.declareParameter(std::move(p), std::move(products))}, s.name.location);
}

void ModelElaborator::assign(const Statement &s, Scope &scope, Body body) {
  const ast::Expression &value = *s.value;
  if (value.kind == ast::ExpressionKind::Suffixed && value.items[0]->kind == ast::ExpressionKind::Name && value.suffixes.size() == 1 &&
      value.suffixes[0].kind == ast::SuffixKind::Call && !scope.find(value.items[0]->text))
    if (Library::FoundLayer found = Library::findLayer(file, value.items[0]->text); found.layer) {
      if (body == Body::Forward)
        reporter.fail(Code::L16, value.location, "a layer is made outside of forward, so that it has one set of parameters");
      // Checkpoints have their own words: a block's layer may hide a constant of the model.
      Binding *hidden = body == Body::Repeat && !scope.findHere(s.name.text) ? scope.find(s.name.text) : nullptr;
      const bool isPartOfBlock = s.path && s.path->text.empty() && !graph.path.empty(); // `as ""`
      const std::string path = isPartOfBlock ? graph.path : pathOf(s.name, s.path, scope);
      if (!hidden || !isNumber(hidden->value))
        checkFresh(s.name, scope, path);
      scope.bind(s.name.text, instantiate(s.name, path, value, found, scope), s.name.location);
      note(s.name.text, scope.findHere(s.name.text)->value, s.name.location, graph.path);
      return;
    }
  Value v = evaluate(value, scope);
  if (s.path)
    reporter.fail(Code::L18, s.path->location, "'as' gives a path to a layer or a parameter, '" + s.name.text + "' is " + kindOf(v));
  if (std::holds_alternative<Instance *>(v))
    reporter.fail(Code::L18, value.location, "a layer cannot have a second name");
  Binding *old = scope.find(s.name.text);
  bool tensors = old && std::holds_alternative<TensorValue>(old->value) && std::holds_alternative<TensorValue>(v);
  note(s.name.text, v, s.name.location, graph.path);
  if (!old)
    scope.bind(s.name.text, v, s.name.location);
  else if (tensors)
    *old = {v, s.name.location}; // `x = x + ...`: also from inside of a repeat
  else if (!std::holds_alternative<Poison>(old->value))
    checkFresh(s.name, scope);
}

} // namespace npar::dsl
