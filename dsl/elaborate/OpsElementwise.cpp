// Functions of one element, and what makes or joins tensors.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// The absolute value of integers.
Value integerSize(OperationCall &call, int x) {
  auto integers = [&](const char *op, std::vector<int> operands, std::map<std::string, Attribute> attributes) {
    return call.graph.add(call.at, op, std::move(operands), Graph::integers(call.axesOf(x)), std::move(attributes));
  };
  int zero = nodeOf(call.graph, call.at, int64_t{0}, false);
  int negative = integers("compare", {x, zero}, {{"relation", std::string("less")}});
  int other = integers("integer", {zero, x}, {{"kind", std::string("sub")}});
  return TensorValue{integers("where", {negative, other, x}, {})};
}

/// A function of a tensor, element by element; exp, log and sqrt also take constants.
Value unary(OperationCall &call) {
  Value v = call.value(0);
  auto *x = std::get_if<TensorValue>(&v);
  if (x && call.graph.isFloat(x->node))
    return call.add(call.name, {x->node}, call.axesOf(x->node));
  if (x && call.name == "abs" && !call.graph.isTruth(x->node))
    return integerSize(call, x->node);
  Value constant, argument = x ? v : call.elaborator.constant(call.place(0), v);
  if (isNumber(argument) && call.elaborator.callConstant(call.name, call.at, {argument}, constant))
    return constant;
  call.reporter.fail(Code::A6, call.place(0),
                     "argument 'x' of '" + call.name + "' must be a float tensor, this is " +
                         (x ? "a tensor of " + call.graph.integerName(x->node) : kindOf(v)));
}

/// 1 where x is above 0, -1 where it is below, else 0; without a slope.
Value sign(OperationCall &call) {
  int x = call.tensor(0);
  const AxisNames axes = call.axesOf(x);
  auto number = [&](double value) { return nodeOf(call.graph, call.at, value, true); };
  auto less = [&](int left, int right) {
    return call.graph.add(call.at, "compare", {left, right}, Graph::truths(axes), {{"relation", std::string("less")}});
  };
  int negative = call.add("where", {less(x, number(0)), number(-1), number(0)}, axes).node;
  return call.add("where", {less(number(0), x), number(1), negative}, axes);
}

/// 1 / (1 + exp(-x)), by exponents that are not positive, so that nothing overflows and small results keep their digits.
Value sigmoid(OperationCall &call) {
  int x = call.tensor(0);
  const AxisNames axes = call.axesOf(x);
  int zero = nodeOf(call.graph, call.at, 0.0, true), one = nodeOf(call.graph, call.at, 1.0, true);
  int above = call.graph.add(call.at, "compare", {zero, x}, Graph::truths(axes), {{"relation", std::string("less")}});
  int negative = call.add("scale", {x}, axes, {{"factor", -1.0}}).node;
  int e = call.add("exp", {call.add("where", {above, negative, x}, axes).node}, axes).node;
  int upper = call.add("where", {above, one, e}, axes).node, lower = call.add("shift", {e}, axes, {{"value", 1.0}}).node;
  return call.add("div", {upper, lower}, axes);
}

Value stopGradient(OperationCall &call) {
  int x = call.tensor(0);
  return call.add("stop_gradient", {x}, call.axesOf(x));
}

Value gelu(OperationCall &call) {
  int x = call.tensor(0);
  return call.add("gelu", {x}, call.axesOf(x), {{"approximate", call.word(1)}});
}

Value dropout(OperationCall &call) {
  int x = call.tensor(0);
  double rate = call.number(1);
  checkDropoutRate(call, 1, rate);
  std::string site = call.elaborator.site("dropout");
  if (rate == 0)
    return TensorValue{x};
  return call.add("dropout", {x}, call.axesOf(x), {{"rate", rate}, {"site", site}});
}

Value index(OperationCall &call) {
  std::string axis = call.axis(0);
  if (axis == "batch")
    call.reporter.fail(Code::A5, call.place(0), "'index' over 'batch' would make results depend on a sequence's position in the batch");
  return TensorValue{call.graph.add(call.at, "index", {}, Graph::integers({axis}))};
}

/// A list of numbers, one for each entry of an axis, rounded to float32.
std::vector<double> numbersOver(OperationCall &call, size_t i, const std::string &axis) {
  Value value = call.value(i);
  auto *list = std::get_if<NumberList>(&value);
  if (!list)
    call.reporter.fail(Code::L13, call.place(i), "the frequencies must be a list of numbers, this is " + kindOf(value),
                       {"write [... for i in " + axis + "]"});
  if (int64_t size = call.graph.size(axis); static_cast<int64_t>(list->size()) != size)
    call.reporter.fail(Code::A1, call.place(i),
                       "axis '" + axis + "' has size " + std::to_string(size) + ", the list has " + std::to_string(list->size()) +
                           " frequencies");
  for (double &number : *list) {
    if (std::string wrong = beyondFloat32(number); !wrong.empty())
      call.reporter.fail(Code::A13, call.place(i), "a frequency is " + wrong);
    number = static_cast<double>(static_cast<float>(number));
  }
  return *list;
}

/// cos or sin of positions times frequencies base^(-i / n), i counting `over`, or times listed frequencies.
Value sinusoid(OperationCall &call) {
  int positions = call.tensor(0);
  std::string over = call.axis(1);
  if (over == "batch")
    call.reporter.fail(Code::A5, call.place(1), "'sinusoid' over 'batch' would make results depend on a sequence's position in the batch");
  AxisNames axes = call.axesOf(positions);
  if (contains(axes, over))
    call.reporter.fail(Code::A4, call.place(1), "the positions already have the axis '" + over + "', it counts the frequencies");
  axes.push_back(over);
  std::map<std::string, Attribute> attributes = {{"axis", over}, {"wave", call.word(3)}};
  if (call.has(4)) {
    if (call.has(2))
      call.reporter.fail(Code::A13, call.place(2), "'sinusoid' has a base or frequencies, not both", {"leave one of them out"});
    attributes.insert({"frequencies", numbersOver(call, 4, over)});
    return call.add("sinusoid", {positions}, axes, std::move(attributes));
  }
  double base = call.number(2);
  if (!(base > 0))
    call.reporter.fail(Code::A13, call.place(2), "the base of the frequencies must be above 0, this is " + textOf(base));
  attributes.insert({"base", base});
  return call.add("sinusoid", {positions}, axes, std::move(attributes));
}

/// Joins tensors along a new axis: the last one, or before another.
Value stack(OperationCall &call) {
  std::vector<int> parts = call.list(0);
  std::string along = call.axis(1);
  call.refuseBatch(1, along);
  AxisNames axes = call.axesOf(parts[0]);
  for (int &part : parts) {
    if (!sameAxes(call.axesOf(part), axes))
      call.reporter.fail(Code::A4, call.place(0),
                         "'stack' needs tensors over the same axes: " + textOf(axes) + " and " + textOf(call.axesOf(part)));
    part = ordered(call.graph, call.at, part, axes);
  }
  if (contains(axes, along))
    call.reporter.fail(Code::A4, call.place(1), "the tensors already have the axis '" + along + "', 'stack' makes a new one");
  if (int64_t size = call.graph.size(along); size != static_cast<int64_t>(parts.size()))
    call.reporter.fail(Code::A1, call.place(1),
                       "axis '" + along + "' has size " + std::to_string(size) + ", the list has " + std::to_string(parts.size()) +
                           " tensors");
  auto place = axes.end();
  if (call.has(2)) {
    std::string before = call.axis(2);
    place = std::find(axes.begin(), axes.end(), before);
    if (place == axes.end())
      call.reporter.fail(Code::A4, call.place(2), "the tensors have no axis '" + before + "', they are over " + textOf(axes),
                         didYouMean(before, axes));
  }
  axes.insert(place, along);
  return call.add("stack", parts, axes, {{"axis", along}});
}

} // namespace

void checkDropoutRate(OperationCall &call, size_t i, double rate) {
  constexpr double largest = 0.999999; // what is kept is drawn, and scaled by 1 / (1 - rate), in 32 bits
  if (!(rate >= 0 && rate <= largest))
    call.reporter.fail(Code::A13, call.place(i), "the dropout rate " + textOf(rate) + " is outside of [0, " + textOf(largest) + "]");
}

std::vector<Operation> elementwiseOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const OperationFormal x{"x", Formal::Floats};
  return {
      {"exp", {{"x", Formal::Any}}, unary, {{"exp", 1}}},
      {"log", {{"x", Formal::Any}}, unary, {{"log", 1}}},
      {"tanh", {{"x", Formal::Any}}, unary, {{"tanh", 1}}},
      {"relu", {{"x", Formal::Any}}, unary, {{"relu", 1}}},
      {"gelu", {x, {"approximate", {"tanh", "none"}}}, gelu, {{"gelu", 1, {{"approximate", Kind::Text}}}}},
      {"silu", {{"x", Formal::Any}}, unary, {{"silu", 1}}},
      {"sigmoid", {x}, sigmoid, {{"where", 3}, {"exp", 1}, node::scale, node::shift, node::div, node::compare, node::fill}},
      {"sqrt", {{"x", Formal::Any}}, unary, {{"sqrt", 1}}},
      {"cos", {{"x", Formal::Any}}, unary, {{"cos", 1}}},
      {"sin", {{"x", Formal::Any}}, unary, {{"sin", 1}}},
      {"abs", {{"x", Formal::Any}}, unary, {{"abs", 1}}},
      {"sign", {x}, sign, {node::compare, node::fill, {"where", 3}}},
      {"stop_gradient", {x}, stopGradient, {node::stopGradient}},
      {"stack",
       {{"parts", Formal::Tensors}, {"along", Formal::Axis}, {"before", Formal::Axis, true}},
       stack,
       {{"stack", NodeKind::anyNumber, {{"axis", Kind::Text}}}, node::reorder}},
      {"sinusoid",
       {{"positions", Formal::Indices},
        {"over", Formal::Axis},
        {"base", Formal::Number, 10000.0},
        {"wave", {"cos", "sin"}},
        {"frequencies", Formal::Any, true}},
       sinusoid,
       {{"sinusoid", 1, {{"axis", Kind::Text}, {"base", Kind::Number, true}, {"frequencies", Kind::Numbers, true}, {"wave", Kind::Text}}}}},
      {"dropout", {x, {"rate", Formal::Number}}, dropout, {{"dropout", 1, {{"rate", Kind::Number}, {"site", Kind::Text}}}}},
      {"index", {{"axis", Formal::Axis}}, index, {{"index", 0}}},
  };
}

} // namespace npar::dsl
