// Layers: instantiated with their arguments like templates, called like functions.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/ModelElaborator.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace npar::dsl {
namespace {

/// Sets a variable for a scope and restores it, also when an error leaves the scope.
template <typename T> class Saved {
public:
  Saved(T &variable, T value) : variable(variable), old(std::exchange(variable, std::move(value))) {}
  ~Saved() { variable = std::move(old); }
  Saved(const Saved &) = delete;

private:
  T &variable;
  T old;
};

} // namespace

Instance *ModelElaborator::instantiate(const ast::Name &name, const std::string &path, const ast::Expression &value,
                                       const Library::FoundLayer &found, Scope &scope) {
  constexpr size_t deepest = 64, most = 200'000;
  const ast::Block &layer = *found.layer;
  const std::string what = "layer '" + layer.name.text + "'";
  if (std::find(openLayers.begin(), openLayers.end(), &layer) != openLayers.end()) {
    std::string cycle;
    for (auto it = std::find(openLayers.begin(), openLayers.end(), &layer); it != openLayers.end(); ++it)
      cycle += (*it)->name.text + " -> ";
    reporter.fail(Code::L16, value.location, what + " contains itself: " + cycle + layer.name.text);
  }
  if (openLayers.size() >= deepest)
    reporter.fail(Code::L3, value.location, "layers nest deeper than " + std::to_string(deepest));
  if (instances.size() >= most)
    reporter.abort(Code::L3, value.location, "the model has more than " + std::to_string(most) + " layers");

  std::vector<Formal> formals;
  for (const ast::Item &p : layer.parameters)
    formals.push_back({p.name.text, p.value != nullptr});
  auto isFlag = [&](const ast::Argument &a) {
    if (a.value->kind != ast::ExpressionKind::Name || scope.find(a.value->text))
      return false;
    return std::any_of(layer.parameters.begin(), layer.parameters.end(), [&](const ast::Item &p) {
      return p.name.text == a.value->text && p.value && p.value->kind == ast::ExpressionKind::Boolean;
    });
  };
  auto slots = matchArguments(reporter, what, value.location, formals, value.suffixes[0].arguments, isFlag);

  instances.push_back(std::make_unique<Instance>());
  Instance *result = instances.back().get();
  result->layer = &layer;
  result->file = found.file;
  result->path = path;
  result->location = name.location;
  result->parent = instance;
  for (size_t i = 0; i < formals.size(); ++i) {
    const ast::Item &p = layer.parameters[i];
    if (result->scope.findHere(p.name.text))
      reporter.fail(Code::L6, p.name.location, "parameter '" + p.name.text + "' of " + what + " is declared twice");
    Value v;
    if (!slots[i])
      v = evaluate(*p.value, result->scope);
    else if (slots[i]->name.text.empty() && isFlag(*slots[i]))
      v = true;
    else
      v = evaluate(*slots[i]->value, scope);
    if (std::holds_alternative<TensorValue>(v) || std::holds_alternative<Instance *>(v))
      reporter.fail(Code::L16, slots[i] ? slots[i]->value->location : p.name.location,
                    "argument '" + p.name.text + "' of " + what + " must be an axis or a constant, this is " + kindOf(v));
    result->scope.bind(p.name.text, v, p.name.location);
  }
  for (const ast::Statement &s : layer.body)
    if (s.kind == ast::StatementKind::Forward) {
      if (result->forward)
        reporter.fail(Code::L16, s.location, what + " has a second forward function");
      result->forward = &s;
    }
  if (!result->forward)
    reporter.fail(Code::L16, layer.name.location, what + " has no forward function", {"end it with `forward(x) = ...`"});

  Reporter::Frame frame(reporter, value.location, "for layer '" + result->path + "', made here");
  Saved<SourceFile *> inFile(file, found.file);
  Saved<Instance *> inInstance(instance, result);
  Saved<std::string> inPath(graph.path, result->path);
  openLayers.push_back(&layer);
  size_t before = reporter.errorCount();
  try {
    execute(layer.body, result->scope, Body::Layer);
  } catch (...) {
    openLayers.pop_back();
    throw;
  }
  openLayers.pop_back();
  if (reporter.errorCount() != before)
    throw Stop{};
  return result;
}

Value ModelElaborator::forward(Instance &callee, const std::string &name, const ast::Suffix &suffix, Location at, Scope &scope) {
  const ast::Statement &function = *callee.forward;
  std::vector<Formal> formals;
  for (const ast::Item &p : function.items)
    formals.push_back({p.name.text});
  std::vector<const ast::Argument *> slots;
  {
    std::optional<Reporter::Frame> hides; // the text may have meant the operation
    if (findOperation(name))
      hides.emplace(reporter, callee.location, "this layer hides the operation '" + name + "'; give it another name to call the operation");
    slots = matchArguments(reporter, "layer '" + callee.layer->name.text + "' when called", at, formals, suffix.arguments);
  }
  Scope inner(&callee.scope);
  for (size_t i = 0; i < formals.size(); ++i) {
    if (inner.findHere(formals[i].name))
      reporter.fail(Code::L6, function.items[i].name.location, "argument '" + formals[i].name + "' of forward is declared twice");
    inner.bind(formals[i].name, evaluate(*slots[i]->value, scope), function.items[i].name.location);
    note(formals[i].name, inner.findHere(formals[i].name)->value, function.items[i].name.location, callee.path);
  }
  callee.used = true;
  Reporter::Frame frame(reporter, at, "in layer '" + callee.path + "', called here", callee.location);
  Saved<SourceFile *> inFile(file, callee.file);
  Saved<Instance *> inInstance(instance, &callee);
  Saved<std::string> inPath(graph.path, callee.path);
  if (function.value)
    return evaluate(*function.value, inner);
  Saved<std::optional<Value>> inResult(result, std::nullopt);
  execute(function.body, inner, Body::Forward);
  if (!result)
    reporter.fail(Code::L16, function.location, "this forward function returns no value", {"end it with `return ...`"});
  return *result;
}

Value ModelElaborator::member(Instance &object, const ast::Name &name) {
  Binding *binding = object.scope.findHere(name.text);
  if (!binding)
    reporter.fail(Code::L16, name.location, "layer '" + object.path + "' has no member '" + name.text + "'",
                  didYouMean(name.text, object.scope.names()));
  if (std::holds_alternative<Poison>(binding->value))
    throw Stop{};
  object.used = true;
  return use(binding->value, name.location);
}

} // namespace npar::dsl
