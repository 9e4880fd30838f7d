// Operators between tensors, and between tensors and numbers: arithmetic, comparisons, logic, with broadcast by name.
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {
namespace {

using ast::Operator;

bool subset(const AxisNames &small, const AxisNames &large) {
  return std::all_of(small.begin(), small.end(), [&](const std::string &a) { return contains(large, a); });
}

/// One operator in a text.
struct Applied {
  Graph &graph;
  Reporter &reporter;
  Operator op;
  Location at;

  std::string sign() const { return std::string("'") + ast::spelling(op) + "'"; }
  /// "a float tensor over [seq]", "i32 over [batch, seq]"
  std::string described(int node) const { return describedTensor(graph, node); }
  int add(const char *name, std::vector<int> operands, const TensorType &like, std::map<std::string, Attribute> attributes = {}) const {
    TensorType type = like.over(unionOf(graph, operands));
    return graph.add(at, name, std::move(operands), std::move(type), std::move(attributes));
  }

  Value logic(const Value &left, const Value &right) const;
  Value comparison(const Value &left, const Value &right) const;
  Value integers(const Value &left, const Value &right) const;
  Value floats(const Value &left, const Value &right) const;
  void checkKinds(const Value &left, const Value &right) const;
};

const TensorValue *tensorOf(const Value &value) { return std::get_if<TensorValue>(&value); }

Value Applied::logic(const Value &left, const Value &right) const {
  for (const Value *side : {&left, &right}) {
    auto *tensor = tensorOf(*side);
    if (!std::holds_alternative<bool>(*side) && !(tensor && graph.isTruth(tensor->node)))
      reporter.fail(Code::A6, at,
                    sign() + " needs true or false on both sides, found " + (tensor ? described(tensor->node) : kindOf(*side)));
  }
  bool isAnd = op == Operator::And;
  for (auto [one, other] : {std::pair(&left, &right), std::pair(&right, &left)})
    if (auto *known = std::get_if<bool>(one))
      return *known == isAnd ? *other : *one;
  return TensorValue{add("integer", {tensorOf(left)->node, tensorOf(right)->node}, Graph::truths({}), {{"kind", isAnd ? "and" : "or"}})};
}

/// Checks that both sides have the same kind; a number takes the kind of the tensor that it is combined with.
void Applied::checkKinds(const Value &left, const Value &right) const {
  bool compares = op == Operator::Equal || op == Operator::NotEqual;
  auto *a = tensorOf(left), *b = tensorOf(right);
  for (const TensorValue *t : {a, b})
    if (t && graph.isTruth(t->node) && !(compares && a && b && graph.isTruth(a->node) && graph.isTruth(b->node)))
      reporter.fail(Code::A7, at, sign() + " needs numbers, this one is " + described(t->node), {"write int(x), or float(x), for 0 and 1"});
  if (a && b) {
    if (graph.isFloat(a->node) != graph.isFloat(b->node))
      reporter.fail(Code::A7, at,
                    sign() + " needs integers or floats on both sides: the left one is " + described(a->node) + ", the right one " +
                        described(b->node),
                    {std::string("write float(...) around the ") + (graph.isFloat(a->node) ? "right" : "left") + " one"});
    return;
  }
  wholeFor(graph, reporter, at, sign(), a ? a->node : b->node, a ? right : left);
}

Value Applied::comparison(const Value &left, const Value &right) const {
  checkKinds(left, right);
  bool floats = graph.isFloat(tensorOf(left) ? tensorOf(left)->node : tensorOf(right)->node);
  int a = nodeOf(graph, at, left, floats), b = nodeOf(graph, at, right, floats);
  if (op == Operator::Greater || op == Operator::GreaterEqual)
    std::swap(a, b);
  const char *relation = op == Operator::Equal                             ? "equal"
                         : op == Operator::NotEqual                        ? "not_equal"
                         : op == Operator::Less || op == Operator::Greater ? "less"
                                                                           : "less_equal";
  return TensorValue{add("compare", {a, b}, Graph::truths({}), {{"relation", relation}})};
}

Value Applied::integers(const Value &left, const Value &right) const {
  bool divides = op == Operator::Divide || op == Operator::Modulo;
  if (auto *divisor = std::get_if<int64_t>(&right); divisor && *divisor == 0 && divides)
    reporter.fail(Code::L10, at, "division of a tensor by zero");
  static const char *const kinds[] = {"add", "sub", "mul", "div", "mod"};
  int a = nodeOf(graph, at, left, false), b = nodeOf(graph, at, right, false);
  return TensorValue{
      add("integer", {a, b}, Graph::integers({}), {{"kind", kinds[static_cast<int>(op) - static_cast<int>(Operator::Add)]}})};
}

Value Applied::floats(const Value &left, const Value &right) const {
  auto *a = tensorOf(left), *b = tensorOf(right);
  static const char *const names[] = {"add", "sub", "mul", "div"};
  auto both = [&](int x, int y) {
    return TensorValue{add(names[static_cast<int>(op) - static_cast<int>(Operator::Add)], {x, y}, graph.floating({}))};
  };
  if (op == Operator::Modulo)
    reporter.fail(Code::A7, at, sign() + " is for integers, this is " + described(a ? a->node : b->node));
  if (a && b)
    return both(a->node, b->node);
  int x = a ? a->node : b->node;
  const AxisNames axes = graph.type(x).axes;
  double number = toDouble(a ? right : left);
  auto scale = [&](int node, double factor) { return graph.add(at, "scale", {node}, graph.floating(axes), {{"factor", factor}}); };
  auto shift = [&](int node, double value) { return graph.add(at, "shift", {node}, graph.floating(axes), {{"value", value}}); };
  switch (op) {
  case Operator::Add:
    return TensorValue{shift(x, number)};
  case Operator::Subtract:
    return TensorValue{a ? shift(x, -number) : shift(scale(x, -1), number)};
  case Operator::Multiply:
    return TensorValue{scale(x, number)};
  case Operator::Divide:
  case Operator::Or: // and what follows: done before
  case Operator::And:
  case Operator::Equal:
  case Operator::NotEqual:
  case Operator::Less:
  case Operator::LessEqual:
  case Operator::Greater:
  case Operator::GreaterEqual:
  case Operator::Modulo:
    break;
  }
  if (a) {
    if (number == 0)
      reporter.fail(Code::L10, at, "division of a tensor by zero");
    return TensorValue{scale(x, 1 / number)};
  }
  return both(nodeOf(graph, at, left, true), x);
}

} // namespace

namespace node {
const NodeKind add{"add", 2}, sub{"sub", 2}, mul{"mul", 2}, div{"div", 2};
const NodeKind scale{"scale", 1, {{"factor", AttributeKind::Number}}}, shift{"shift", 1, {{"value", AttributeKind::Number}}};
const NodeKind fill{"fill", 0, {{"value", AttributeKind::Number}}};
const NodeKind integer{"integer", 2, {{"kind", AttributeKind::Text}}}, compare{"compare", 2, {{"relation", AttributeKind::Text}}};
const NodeKind toFloat{"to_float", 1, {{"below", AttributeKind::Integer, true}}};
const NodeKind reorder{"reorder", 1};
const NodeKind stopGradient{"stop_gradient", 1, {{"neutral", AttributeKind::Truth, true}}};
} // namespace node

std::string describedTensor(const Graph &graph, int node) {
  return (graph.isFloat(node) ? "a float tensor" : graph.integerName(node)) + " over " + textOf(graph.type(node).axes);
}

AxisNames unionOf(const Graph &graph, std::vector<int> nodes) {
  auto hasBatch = [&](int node) { return contains(graph.type(node).axes, "batch"); };
  std::stable_partition(nodes.begin(), nodes.end(), hasBatch);
  // Most often one has them all: its order is the result's.
  for (int node : nodes)
    if (const AxisNames &all = graph.type(node).axes;
        std::all_of(nodes.begin(), nodes.end(), [&](int other) { return subset(graph.type(other).axes, all); }))
      return all;
  AxisNames axes;
  for (int node : nodes)
    for (const std::string &axis : graph.type(node).axes)
      if (!contains(axes, axis))
        axes.push_back(axis);
  return axes;
}

void wholeFor(const Graph &graph, Reporter &reporter, Location at, const std::string &what, int beside, const Value &number) {
  if (graph.isFloat(beside)) {
    if (std::string wrong = beyondFloat32(toDouble(number)); !wrong.empty())
      reporter.fail(Code::A7, at, what + " has " + wrong);
    return;
  }
  auto *whole = std::get_if<int64_t>(&number);
  std::string shown = textOf(number);
  if (!whole && shown.find_first_of(".en") == std::string::npos)
    shown += ".0";
  if (!whole)
    reporter.fail(Code::A7, at, what + " has " + shown + ", which is not an integer, with " + describedTensor(graph, beside),
                  {"write float(x) to compute with floats"});
  if (*whole < INT32_MIN || *whole > INT32_MAX)
    reporter.fail(Code::A7, at, what + " has " + textOf(number) + " beside " + describedTensor(graph, beside) + ", which holds 32 bits");
}

void heldBy32Bits(Reporter &reporter, Location at, const std::string &what, const Value &number, bool floats) {
  if (std::string wrong = floats ? beyondFloat32(toDouble(number)) : ""; !wrong.empty())
    reporter.fail(Code::A7, at, what + " has " + wrong);
  if (auto *whole = std::get_if<int64_t>(&number); whole && !floats && (*whole < INT32_MIN || *whole > INT32_MAX))
    reporter.fail(Code::A7, at, what + " has " + textOf(number) + ", and integers of tensors have 32 bits");
}

int nodeOf(Graph &graph, Location at, const Value &value, bool floats) {
  if (auto *tensor = tensorOf(value))
    return tensor->node;
  return graph.add(at, "fill", {}, floats ? graph.floating({}) : Graph::integers({}), {{"value", toDouble(value)}});
}

Value tensorArithmetic(Graph &graph, Reporter &reporter, Operator op, Location at, const Value &first, const Value &second) {
  Applied applied{graph, reporter, op, at};
  Value left = first, right = second;
  if (tensorOf(left) && tensorOf(right)) {
    int a = tensorOf(left)->node, b = tensorOf(right)->node;
    left = TensorValue{entriesOfRows(graph, at, a, b)}, right = TensorValue{entriesOfRows(graph, at, b, a)};
  }
  if (op == Operator::And || op == Operator::Or)
    return applied.logic(left, right);
  auto *a = tensorOf(left), *b = tensorOf(right);
  if ((!a && !isNumber(left)) || (!b && !isNumber(right)))
    reporter.fail(Code::A7, at, applied.sign() + " cannot combine " + kindOf(left) + " and " + kindOf(right));
  if (op < Operator::Add)
    return applied.comparison(left, right);
  applied.checkKinds(left, right);
  return graph.isFloat(a ? a->node : b->node) ? applied.floats(left, right) : applied.integers(left, right);
}

Value tensorNegation(Graph &graph, Reporter &reporter, Location at, int node) {
  if (!graph.isTruth(node))
    reporter.fail(Code::A6, at, "the operand of 'not' must be a bool tensor, this is " + describedTensor(graph, node),
                  {graph.isFloat(node) ? "a comparison makes one: x > 0" : "write x == 0 for an integer tensor"});
  int zero = nodeOf(graph, at, int64_t{0}, false);
  return TensorValue{graph.add(at, "compare", {node, zero}, Graph::truths(graph.type(node).axes), {{"relation", std::string("equal")}})};
}

} // namespace npar::dsl
