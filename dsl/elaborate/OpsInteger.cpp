// Choosing by conditions, and the ways between integers, truth values and floats.
#include "dsl/elaborate/Operation.h"

#include <cmath>

namespace npar::dsl {
namespace {

/// where(condition, x, y): x where it holds, else y, each of them a tensor or a number.
Value where(OperationCall &call) {
  Value condition = call.value(0), x = call.value(1), y = call.value(2);
  if (auto *known = std::get_if<bool>(&condition))
    return *known ? x : y;
  auto *chooses = std::get_if<TensorValue>(&condition);
  if (!chooses || !call.graph.isTruth(chooses->node))
    call.reporter.fail(Code::A6, call.place(0),
                       "argument 'condition' of 'where' must be a bool tensor, this is " +
                           (chooses ? describedTensor(call.graph, chooses->node) : kindOf(condition)),
                       {"a comparison makes one: x > 0"});
  auto *a = std::get_if<TensorValue>(&x), *b = std::get_if<TensorValue>(&y);
  for (auto [i, tensor, value] : {std::tuple(1, a, &x), std::tuple(2, b, &y)})
    if (!tensor && !isNumber(*value))
      call.reporter.fail(Code::A6, call.place(static_cast<size_t>(i)),
                         std::string("argument '") + (i == 1 ? "x" : "y") + "' of 'where' must be a tensor or a number, this is " +
                             kindOf(*value));
  bool sameElements = !a || !b || call.graph.type(a->node).over({}) == call.graph.type(b->node).over({});
  if (!sameElements &&
      (call.graph.isFloat(a->node) || call.graph.isFloat(b->node) || call.graph.isTruth(a->node) || call.graph.isTruth(b->node)))
    call.reporter.fail(Code::A6, call.at,
                       "'where' chooses between tensors of one type: x is " + describedTensor(call.graph, a->node) + ", y " +
                           describedTensor(call.graph, b->node),
                       {"float(x) and int(x) make one of the other"});
  const TensorValue *typed = a ? a : b;
  if (typed && call.graph.isTruth(typed->node) && !(a && b))
    call.reporter.fail(Code::A6, call.at, "'where' chooses between tensors of one type: one is bool, the other a number", {"write int(x)"});
  if (typed && !(a && b))
    wholeFor(call.graph, call.reporter, call.place(a ? 2 : 1), "'where'", typed->node, a ? y : x);
  bool floats = typed ? call.graph.isFloat(typed->node) : std::holds_alternative<double>(x) || std::holds_alternative<double>(y);
  if (!typed)
    for (size_t i : {1, 2})
      heldBy32Bits(call.reporter, call.place(i), "'where'", i == 1 ? x : y, floats);
  int first = nodeOf(call.graph, call.at, x, floats), second = nodeOf(call.graph, call.at, y, floats);
  std::vector<int> operands{chooses->node, first, second};
  AxisNames axes = unionOf(call.graph, operands);
  TensorType type = floats                                     ? call.graph.floating(axes)
                    : typed && call.graph.isTruth(typed->node) ? Graph::truths(axes)
                                                               : Graph::integers(axes);
  return TensorValue{call.graph.add(call.at, "where", operands, type)};
}

/// An integer tensor, a truth value or a number as floats.
Value toFloat(OperationCall &call) {
  Value x = call.value(0);
  if (auto *tensor = std::get_if<TensorValue>(&x))
    return call.graph.isFloat(tensor->node) ? x : Value(call.add("to_float", {tensor->node}, call.axesOf(tensor->node)));
  if (auto *truth = std::get_if<bool>(&x))
    return *truth ? 1.0 : 0.0;
  Value constant = call.elaborator.constant(call.place(0), x);
  if (!isNumber(constant))
    call.reporter.fail(Code::A6, call.place(0), "argument 'x' of 'float' must be a tensor or a number, this is " + kindOf(x));
  return toDouble(constant);
}

Value toInt(OperationCall &call) {
  Value x = call.value(0);
  if (auto *tensor = std::get_if<TensorValue>(&x)) {
    const TensorType type = Graph::integers(call.axesOf(tensor->node));
    if (call.graph.isFloat(tensor->node))
      return TensorValue{call.graph.add(call.at, "to_int", {tensor->node}, type)};
    if (!call.graph.isTruth(tensor->node))
      return x;
    int zero = nodeOf(call.graph, call.at, int64_t{0}, false);
    return TensorValue{call.graph.add(call.at, "compare", {tensor->node, zero}, type, {{"relation", std::string("not_equal")}})};
  }
  if (auto *truth = std::get_if<bool>(&x))
    return int64_t{*truth};
  Value constant = call.elaborator.constant(call.place(0), x);
  if (!isNumber(constant))
    call.reporter.fail(Code::A6, call.place(0), "argument 'x' of 'int' must be a tensor or a number, this is " + kindOf(x));
  if (std::holds_alternative<int64_t>(constant))
    return constant;
  double cut = std::trunc(toDouble(constant));
  if (!(std::fabs(cut) < 9.2e18))
    call.reporter.fail(Code::L10, call.place(0), "int(" + textOf(constant) + ") is beyond 64 bits");
  return static_cast<int64_t>(cut);
}

/// 1 where the entry of `over` is x, else 0.
Value oneHot(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(1);
  call.refuseBatch(1, over);
  AxisNames axes = call.axesOf(x);
  if (contains(axes, over))
    call.reporter.fail(Code::A4, call.place(1), "the operand already has the axis '" + over + "', 'one_hot' makes it");
  axes.push_back(over);
  int index = call.graph.add(call.at, "index", {}, Graph::integers({over}));
  int equal = call.graph.add(call.at, "compare", {x, index}, Graph::truths(axes), {{"relation", std::string("equal")}});
  return call.add("to_float", {equal}, axes);
}

} // namespace

std::vector<Operation> integerOperations() {
  using Formal = FormalKind;
  return {
      {"where", {{"condition", Formal::Any}, {"x", Formal::Any}, {"y", Formal::Any}}, where, {{"where", 3}}},
      {"float", {{"x", Formal::Any}}, toFloat, {node::toFloat}},
      {"int", {{"x", Formal::Any}}, toInt, {{"to_int", 1}, node::compare}},
      {"one_hot", {{"x", Formal::Indices}, {"over", Formal::Axis}}, oneHot, {{"index", 0}, node::compare, node::toFloat}},
  };
}

} // namespace npar::dsl
