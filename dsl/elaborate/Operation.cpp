// Finding operations, and what they share in checking their arguments.
#include "dsl/elaborate/Operation.h"
#include "dsl/Suggestions.h"

#include <algorithm>

namespace npar::dsl {

const std::vector<Operation> &operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> result = elementwiseOperations();
    for (const auto &family : {reductionOperations(), contractionOperations()})
      result.insert(result.end(), family.begin(), family.end());
    return result;
  }();
  return all;
}

const std::vector<std::string> &nodeKinds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> result = {"input", "select", "add", "sub", "mul", "div", "scale", "shift", "fill"};
    for (const Operation &op : operations())
      for (const std::string &kind : op.makes)
        if (std::find(result.begin(), result.end(), kind) == result.end())
          result.push_back(kind);
    return result;
  }();
  return all;
}

const Operation *findOperation(const std::string &name) {
  for (const Operation &op : operations())
    if (op.name == name)
      return &op;
  return nullptr;
}

AxisNames without(AxisNames axes, const AxisNames &removed) {
  axes.erase(std::remove_if(axes.begin(), axes.end(), [&](const std::string &a) { return contains(removed, a); }), axes.end());
  return axes;
}

Value OperationCall::value(size_t i) { return elaborator.evaluate(*slots[i]->value, scope); }

int OperationCall::tensor(size_t i) {
  return elaborator.tensor(*slots[i]->value, scope, "argument '" + formals[i].name + "' of '" + name + "'");
}

int OperationCall::floats(size_t i) {
  int node = tensor(i);
  if (!graph.isFloat(node))
    reporter.fail(place(i),
                  "argument '" + formals[i].name + "' of '" + name + "' must be a float tensor, this is i32 over " + textOf(axesOf(node)));
  return node;
}

int OperationCall::indices(size_t i) {
  int node = tensor(i);
  if (graph.isFloat(node))
    reporter.fail(place(i), "argument '" + formals[i].name + "' of '" + name + "' must be an i32 tensor, this is a float tensor over " +
                                textOf(axesOf(node)));
  return node;
}

AxisNames OperationCall::axes(size_t i) {
  return elaborator.axes(*slots[i]->value, scope, "argument '" + formals[i].name + "' of '" + name + "'").names;
}

std::vector<int> OperationCall::list(size_t i) {
  const ast::Expression &given = *slots[i]->value;
  const std::string what = "argument '" + formals[i].name + "' of '" + name + "'";
  if (given.kind != ast::ExpressionKind::List || given.items.empty())
    reporter.fail(place(i), what + " must be a list of tensors", {"write [x, y]"});
  std::vector<int> nodes;
  for (const auto &item : given.items) {
    nodes.push_back(elaborator.tensor(*item, scope, "an element of " + what));
    if (!graph.isFloat(nodes.back()))
      reporter.fail(item->location, "an element of " + what + " must be a float tensor, this is i32 over " + textOf(axesOf(nodes.back())));
  }
  return nodes;
}

std::string OperationCall::nameOf(const std::string &axis) const {
  std::string result;
  for (const std::string &word : scope.names())
    if (auto *value = std::get_if<AxisValue>(&scope.find(word)->value); value && !value->group && value->names[0] == axis)
      if (result.empty() || word == axis)
        result = word;
  return result.empty() ? axis : result;
}

std::string OperationCall::axis(size_t i) {
  AxisNames names = axes(i);
  if (names.size() != 1)
    reporter.fail(place(i), "argument '" + formals[i].name + "' of '" + name + "' must be one axis, this is " + textOf(names));
  return names[0];
}

double OperationCall::number(size_t i, double fallback) {
  return has(i) ? elaborator.number(*slots[i]->value, scope, "argument '" + formals[i].name + "' of '" + name + "'") : fallback;
}

bool OperationCall::truth(size_t i, bool fallback) {
  return has(i) ? elaborator.truth(*slots[i]->value, scope, "argument '" + formals[i].name + "' of '" + name + "'") : fallback;
}

std::string OperationCall::word(size_t i, const std::vector<std::string> &choices) {
  if (!has(i))
    return choices[0];
  Value v = value(i);
  auto *text = std::get_if<std::string>(&v);
  if (!text || std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    std::vector<std::string> quoted;
    for (const std::string &choice : choices)
      quoted.push_back('"' + choice + '"');
    reporter.fail(place(i), "argument '" + formals[i].name + "' of '" + name + "' must be " + joined(quoted) + ", this is " + textOf(v));
  }
  return *text;
}

void OperationCall::requireAxis(size_t i, const std::string &axis, int node, const std::string &what) {
  refuseBatch(i, axis);
  if (!contains(axesOf(node), axis))
    reporter.fail(place(i), what + " has no axis '" + axis + "', it is over " + textOf(axesOf(node)), didYouMean(axis, axesOf(node)));
}

void OperationCall::refuseBatch(size_t i, const std::string &axis) {
  if (axis == "batch")
    reporter.fail(place(i), "'" + name + "' cannot take the axis 'batch': what a sequence computes must not depend on the others");
}

} // namespace npar::dsl
