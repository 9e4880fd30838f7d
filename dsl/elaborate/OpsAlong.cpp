// What an entry of an axis has to do with the others: the first largest, the k largest, running sums, tensors joined along an axis.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// The operand under another name of an axis, which no rule splits: there it is whole.
std::pair<int, std::string> whole(OperationCall &call, int x, const std::string &axis) {
  const std::string name = axis + ".whole"; // no axis of a text can be called so
  call.graph.declareAxis(name, call.graph.size(axis), call.at);
  TensorType type = call.graph.type(x);
  std::replace(type.axes.begin(), type.axes.end(), axis, name);
  return {call.graph.add(call.at, "rename", {x}, type, {{"from", axis}, {"to", name}}), name};
}

/// Integers over axes.
int integer(OperationCall &call, const char *op, std::vector<int> operands, AxisNames axes, std::map<std::string, Attribute> attributes) {
  return call.graph.add(call.at, op, std::move(operands), {ElementType::I32, std::move(axes)}, std::move(attributes));
}

/// The first entry with the maximum: the greatest distance from the end.
Value argmax(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(1);
  call.requireAxis(1, over, x, "the operand");
  AxisNames axes = without(call.axesOf(x), {over});
  int largest = call.add("max", {x}, axes).node;
  int rest = integer(call, "first_max", {x, largest}, axes, {{"axis", over}});
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
    call.reporter.fail(call.place(1), "the operand already has the axis '" + along + "', 'top_k' makes it");
  if (call.graph.size(along) > call.graph.size(over))
    call.reporter.fail(call.place(1), "axis '" + along + "' of size " + std::to_string(call.graph.size(along)) + " is longer than '" +
                                          over + "' of size " + std::to_string(call.graph.size(over)));
  auto [others, other] = whole(call, x, over);
  int order = integer(call, "order", {x, others}, axes, {{"axis", over}, {"other", other}});
  std::replace(result.begin(), result.end(), over, along);
  return TensorValue{integer(call, "find", {order}, result, {{"axis", over}, {"along", along}})};
}

Value cumsum(OperationCall &call) {
  Value value = call.value(0);
  auto *x = std::get_if<TensorValue>(&value);
  if (!x || call.graph.isTruth(x->node))
    call.reporter.fail(call.place(0),
                       "argument 'x' of 'cumsum' must be a tensor of floats or integers, this is " +
                           (x ? describedTensor(call.graph, x->node) : kindOf(value)),
                       x ? std::vector<std::string>{"write int(x) to count"} : std::vector<std::string>{});
  std::string over = call.axis(1);
  call.requireAxis(1, over, x->node, "the operand");
  TensorType type = call.graph.type(x->node);
  type.element = call.graph.isFloat(x->node) ? call.graph.compute : ElementType::I32;
  auto [parts, part] = whole(call, x->node, over);
  return TensorValue{call.graph.add(call.at, "cumsum", {parts}, type, {{"part", part}, {"end", over}})};
}

} // namespace

int partOf(Graph &graph, Location at, int x, const std::string &from, const std::string &to, int64_t offset) {
  const std::string name = from + ".whole"; // no axis of a text can be called so
  graph.declareAxis(name, graph.size(from), at);
  TensorType type = graph.type(x), result = type;
  std::replace(type.axes.begin(), type.axes.end(), from, name);
  std::replace(result.axes.begin(), result.axes.end(), from, to);
  int renamed = graph.add(at, "rename", {x}, type, {{"from", from}, {"to", name}});
  return graph.add(at, "part", {renamed}, result, {{"from", name}, {"to", to}, {"offset", offset}});
}

namespace {

/// Joins tensors along a sum of axes: each operand has one of its parts, in their order.
Value concat(OperationCall &call) {
  const ast::Expression &list = call.expression(0);
  std::string along = call.axis(1);
  const SumAxis *sum = call.graph.sum(along);
  if (!sum)
    call.reporter.fail(call.place(1), "axis '" + along + "' is no sum of axes, 'concat' joins along one",
                       {"declare it as one: `axis " + call.nameOf(along) + " = first + second`"});
  if (list.kind != ast::ExpressionKind::List || list.items.size() != sum->parts.size())
    call.reporter.fail(call.place(0), "argument 'parts' of 'concat' must be a list of " + std::to_string(sum->parts.size()) +
                                          " tensors, one for each of " + textOf(sum->parts));
  std::vector<int> parts;
  int64_t offset = 0;
  for (size_t i = 0; i < list.items.size(); ++i) {
    Location at = list.items[i]->location;
    int x = call.element(0, *list.items[i]);
    const std::string &axis = sum->parts[i];
    if (!contains(call.axesOf(x), axis))
      call.reporter.fail(at, "element " + std::to_string(i + 1) + " of 'concat' has no axis '" + axis + "', part " + std::to_string(i + 1) +
                                 " of '" + along + "': it is over " + textOf(call.axesOf(x)));
    if (contains(call.axesOf(x), along))
      call.reporter.fail(at, "element " + std::to_string(i + 1) + " of 'concat' already has the axis '" + along + "'");
    parts.push_back(partOf(call.graph, at, x, axis, along, -offset));
    offset += call.graph.size(axis);
  }
  int joined = parts[0]; // each is 0 where the others are
  for (size_t i = 1; i < parts.size(); ++i) {
    bool floats = call.graph.isFloat(parts[0]);
    if (floats != call.graph.isFloat(parts[i]) || call.graph.isTruth(parts[0]) || call.graph.isTruth(parts[i]))
      call.reporter.fail(list.items[i]->location, "'concat' needs tensors of floats, or of integers: these are " +
                                                      describedTensor(call.graph, parts[0]) + " and " +
                                                      describedTensor(call.graph, parts[i]));
    TensorType type{floats ? call.graph.compute : ElementType::I32, unionOf(call.graph, {joined, parts[i]})};
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
      {"argmax", {x, over}, argmax, {{"max", 1}, {"first_max", 2, {{"axis", Kind::Text}}}, node::integer}},
      {"top_k",
       {x, {"along", Formal::Axis}, over},
       topK,
       {renamed, {"order", 2, {{"axis", Kind::Text}, {"other", Kind::Text}}}, {"find", 1, {{"axis", Kind::Text}, {"along", Kind::Text}}}}},
      {"cumsum", {{"x", Formal::Any}, over}, cumsum, {renamed, {"cumsum", 1, {{"part", Kind::Text}, {"end", Kind::Text}}}}},
      {"concat",
       {{"parts", Formal::Any}, {"along", Formal::Axis}},
       concat,
       {renamed, {"part", 1, {{"from", Kind::Text}, {"to", Kind::Text}, {"offset", Kind::Integer}}}, node::add, node::integer}},
  };
}

} // namespace npar::dsl
