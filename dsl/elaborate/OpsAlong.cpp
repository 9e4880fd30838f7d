// Operations that relate the entries of an axis: the first largest, the k largest, running sums, tensors joined along an axis.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {

std::string wholeName(const std::string &axis) { return axis + ".whole"; }

int wholeAlong(Graph &graph, Location at, int x, const std::string &axis) {
  const std::string name = wholeName(axis);
  graph.declareAxis(name, graph.size(axis), at, graph.countsSamples(axis));
  TensorType type = graph.type(x);
  std::replace(type.axes.begin(), type.axes.end(), axis, name);
  return graph.add(at, "rename", {x}, type, {{"from", axis}, {"to", name}});
}

namespace {

std::pair<int, std::string> whole(OperationCall &call, int x, const std::string &axis) {
  return {wholeAlong(call.graph, call.at, x, axis), wholeName(axis)};
}

/// Integers over axes.
int integer(OperationCall &call, const char *op, std::vector<int> operands, AxisNames axes, std::map<std::string, Attribute> attributes) {
  return call.graph.add(call.at, op, std::move(operands), Graph::integers(std::move(axes)), std::move(attributes));
}

/// The first entry with the maximum: the greatest distance from the end.
Value argmax(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(1);
  call.requireAxis(1, over, x, "the operand");
  AxisNames axes = without(call.axesOf(x), {over});
  int largest = call.add("max", {x}, axes).node;
  int rest = integer(call, "first_max", {x, largest}, axes, {{"axes", AxisNames{over}}});
  int last = nodeOf(call.graph, call.at, call.graph.size(over) - 1, false);
  return TensorValue{integer(call, "integer", {last, rest}, axes, {{"kind", std::string("sub")}})};
}

/// The entries of the k largest, the largest first, along a new axis of size k in the place of `over`.
Value topK(OperationCall &call) {
  int x = call.tensor(0);
  std::string along = call.axis(1), over = call.axis(2);
  call.requireAxis(2, over, x, "the operand");
  call.refuseBatch(1, along);
  AxisNames axes = call.axesOf(x), result = axes;
  if (contains(axes, along))
    call.reporter.fail(Code::A4, call.place(1), "the operand already has the axis '" + along + "', 'top_k' makes it");
  if (call.graph.size(along) > call.graph.size(over))
    call.reporter.fail(Code::A1, call.place(1),
                       "axis '" + along + "' of size " + std::to_string(call.graph.size(along)) + " is longer than '" + over +
                           "' of size " + std::to_string(call.graph.size(over)),
                       {"give '" + along + "' at most that size"});
  auto [others, other] = whole(call, x, over);
  int order = integer(call, "order", {x, others}, axes, {{"axis", over}, {"other", other}});
  std::replace(result.begin(), result.end(), over, along);
  return TensorValue{integer(call, "find", {order}, result, {{"axis", over}, {"along", along}})};
}

Value cumsum(OperationCall &call) {
  Value value = call.value(0);
  auto *x = std::get_if<TensorValue>(&value);
  if (!x || call.graph.isTruth(x->node))
    call.reporter.fail(Code::A6, call.place(0),
                       "argument 'x' of 'cumsum' must be a tensor of floats or integers, this is " +
                           (x ? describedTensor(call.graph, x->node) : kindOf(value)),
                       x ? Helps{"write int(x) to count"} : Helps{});
  std::string over = call.axis(1);
  call.requireAxis(1, over, x->node, "the operand");
  TensorType type = call.graph.type(x->node);
  type.element = call.graph.isFloat(x->node) ? call.graph.compute : ElementType::I32;
  auto [parts, part] = whole(call, x->node, over);
  return TensorValue{call.graph.add(call.at, "cumsum", {parts}, type, {{"part", part}, {"end", over}})};
}

/// Adds the node of x[i + offset along `from`], i along `to`; entries outside of x are 0.
int shifted(Graph &graph, Location at, int x, const std::string &from, const std::string &to, int64_t offset) {
  int renamed = wholeAlong(graph, at, x, from);
  TensorType result = graph.type(renamed);
  const std::string name = wholeName(from);
  std::replace(result.axes.begin(), result.axes.end(), name, to);
  return graph.add(at, "part", {renamed}, result, {{"from", name}, {"to", to}, {"offset", offset}});
}

} // namespace

int folded(Graph &graph, Location at, int x, std::string flat, std::string major, std::string minor, bool cuts) {
  int node = x;
  TensorType type = graph.type(x);
  if (cuts) {
    node = wholeAlong(graph, at, node, flat);
    type.axes = graph.type(node).axes;
    flat = wholeName(flat);
    auto place = std::find(type.axes.begin(), type.axes.end(), flat);
    *place = minor;
    type.axes.insert(place, major);
  } else {
    AxisNames order = without(type.axes, {minor});
    order.insert(std::find(order.begin(), order.end(), major) + 1, minor);
    node = ordered(graph, at, node, order);
    for (std::string *axis : {&major, &minor}) {
      node = wholeAlong(graph, at, node, *axis);
      *axis = wholeName(*axis);
    }
    type.axes = without(graph.type(node).axes, {minor});
    std::replace(type.axes.begin(), type.axes.end(), major, flat);
  }
  return graph.add(at, "fold", {node}, type, {{"flat", flat}, {"major", major}, {"minor", minor}});
}

int partOf(Graph &graph, Location at, int x, const std::string &from, const std::string &part, int64_t offset) {
  const AxisNames factors = graph.factorsOf(part);
  std::string flat = factors[0];
  if (factors.size() > 1)
    graph.declareAxis(flat = part + ".flat", graph.sizeOfPart(part), at);
  int node = shifted(graph, at, x, from, flat, offset);
  // Each step cuts one factor off, from the first one on.
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    std::string rest = factors.back();
    if (i + 2 < factors.size())
      graph.declareAxis(rest = flat + "." + std::to_string(i), graph.size(flat) / graph.size(factors[i]), at);
    node = folded(graph, at, node, flat, factors[i], rest, true);
    flat = rest;
  }
  return node;
}

namespace {

/// Joins tensors along a sum of axes: each operand has one of its parts, in their order.
Value concat(OperationCall &call) {
  const ast::Expression &list = call.expression(0);
  std::string along = call.axis(1);
  const SumAxis *sum = call.graph.sum(along);
  if (!sum)
    call.reporter.fail(Code::A8, call.place(1), "axis '" + along + "' is no sum of axes, 'concat' joins along one",
                       {"declare it as one: `axis " + call.nameOf(along) + " = first + second`"});
  if (list.kind != ast::ExpressionKind::List || list.items.size() != sum->parts.size())
    call.reporter.fail(Code::A8, call.place(0),
                       "argument 'parts' of 'concat' must be a list of " + std::to_string(sum->parts.size()) +
                           " tensors, one for each of " + textOf(sum->parts));
  std::vector<int> parts;
  int64_t offset = 0;
  for (size_t i = 0; i < list.items.size(); ++i) {
    Location at = list.items[i]->location;
    int x = call.element(0, *list.items[i]);
    const AxisNames factors = call.graph.factorsOf(sum->parts[i]);
    for (const std::string &axis : factors)
      if (!contains(call.axesOf(x), axis))
        call.reporter.fail(Code::A8, at,
                           "element " + std::to_string(i + 1) + " of 'concat' has no axis '" + axis + "', " +
                               (factors.size() > 1 ? "a factor of '" + sum->parts[i] + "', " : "") + "part " + std::to_string(i + 1) +
                               " of '" + along + "': it is over " + textOf(call.axesOf(x)));
    if (contains(call.axesOf(x), along))
      call.reporter.fail(Code::A8, at, "element " + std::to_string(i + 1) + " of 'concat' already has the axis '" + along + "'");
    // A product becomes one axis, from its last factors on.
    std::string flat = factors.back();
    for (size_t k = factors.size() - 1; k-- > 0;) {
      const std::string joined = sum->parts[i] + ".flat" + (k > 0 ? "." + std::to_string(k - 1) : "");
      call.graph.declareAxis(joined, call.graph.size(flat) * call.graph.size(factors[k]), at);
      x = folded(call.graph, at, x, joined, factors[k], flat, false);
      flat = joined;
    }
    parts.push_back(shifted(call.graph, at, x, flat, along, -offset));
    offset += call.graph.sizeOfPart(sum->parts[i]);
  }
  int joined = parts[0]; // each is 0 where the others are
  for (size_t i = 1; i < parts.size(); ++i) {
    bool floats = call.graph.isFloat(parts[0]);
    if (floats != call.graph.isFloat(parts[i]) || call.graph.isTruth(parts[0]) || call.graph.isTruth(parts[i]))
      call.reporter.fail(Code::A8, list.items[i]->location,
                         "'concat' needs tensors of floats, or of integers: these are " + describedTensor(call.graph, parts[0]) + " and " +
                             describedTensor(call.graph, parts[i]));
    AxisNames axes = unionOf(call.graph, {joined, parts[i]});
    TensorType type = floats ? call.graph.floating(axes) : Graph::integers(axes);
    joined = floats ? call.graph.add(call.at, "add", {joined, parts[i]}, type)
                    : call.graph.add(call.at, "integer", {joined, parts[i]}, type, {{"kind", std::string("add")}});
  }
  return TensorValue{joined};
}

} // namespace

std::vector<Operation> alongOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const OperationFormal x{"x", Formal::Floats}, over{"over", Formal::Axis};
  const NodeKind renamed{"rename", 1, {{"from", Kind::Text}, {"to", Kind::Text}}};
  return {
      {"argmax", {x, over}, argmax, {{"max", 1}, {"first_max", 2, {{"axes", Kind::Texts}}}, node::integer}},
      {"top_k",
       {x, {"along", Formal::Axis}, over},
       topK,
       {renamed, {"order", 2, {{"axis", Kind::Text}, {"other", Kind::Text}}}, {"find", 1, {{"axis", Kind::Text}, {"along", Kind::Text}}}}},
      {"cumsum", {{"x", Formal::Any}, over}, cumsum, {renamed, {"cumsum", 1, {{"part", Kind::Text}, {"end", Kind::Text}}}}},
      {"concat",
       {{"parts", Formal::Any}, {"along", Formal::Axis}},
       concat,
       {renamed,
        {"part", 1, {{"from", Kind::Text}, {"to", Kind::Text}, {"offset", Kind::Integer}}},
        {"fold", 1, {{"flat", Kind::Text}, {"major", Kind::Text}, {"minor", Kind::Text}}},
        node::reorder,
        node::add,
        node::integer}},
  };
}

} // namespace npar::dsl
