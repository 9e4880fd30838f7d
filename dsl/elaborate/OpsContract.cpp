// Operations that contract, rename or look up axes: einsum, project, rename, gather.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// `a`'s axes and then `b`'s, without the contracted ones.
Value contract(OperationCall &call, int a, int b, const AxisNames &over) {
  for (auto [rows, weights] : {std::pair(a, b), std::pair(b, a)})
    if (std::optional<TensorValue> product = groupedProduct(call, rows, weights, over))
      return *product;
  AxisNames axes = without(call.axesOf(a), over);
  for (const std::string &axis : without(call.axesOf(b), over))
    if (!contains(axes, axis))
      axes.push_back(axis);
  return call.add("einsum", {a, b}, axes);
}

Value einsum(OperationCall &call) {
  int a = call.tensor(0), b = call.tensor(1);
  AxisNames over = call.axes(2);
  for (const std::string &axis : over) {
    call.refuseBatch(2, axis);
    for (int node : {a, b})
      if (!contains(call.axesOf(node), axis))
        call.reporter.fail(Code::A4, call.place(2),
                           std::string("mismatched axes in 'einsum': ") + (node == a ? "the first" : "the second") +
                               " operand has no axis '" + axis + "' to contract over: " + textOf(call.axesOf(a)) + " and " +
                               textOf(call.axesOf(b)),
                           didYouMean(axis, call.axesOf(node)));
  }
  return contract(call, a, b, over);
}

/// Contracts all axes that both operands have.
Value project(OperationCall &call) {
  int x = call.tensor(0), weight = call.tensor(1);
  AxisNames over;
  for (const std::string &axis : call.axesOf(x))
    if (contains(call.axesOf(weight), axis))
      over.push_back(axis);
  if (over.empty())
    call.reporter.fail(Code::A4, call.at,
                       "mismatched axes in 'project': the operands share none: " + textOf(call.axesOf(x)) + " and " +
                           textOf(call.axesOf(weight)));
  for (const std::string &axis : over)
    call.refuseBatch(1, axis);
  return contract(call, x, weight, over);
}

/// The same tensor with another name for one of its axes, so that two positions of it can meet in one product.
Value rename(OperationCall &call) {
  int x = call.tensor(0);
  std::string from = call.axis(1), to = call.axis(2);
  call.requireAxis(1, from, x, "the operand");
  call.refuseBatch(2, to);
  AxisNames axes = call.axesOf(x);
  if (contains(axes, to))
    call.reporter.fail(Code::A4, call.place(2), "the operand of 'rename' has the axis '" + to + "' already: " + textOf(axes));
  if (call.graph.size(from) != call.graph.size(to))
    call.reporter.fail(Code::A4, call.place(2),
                       "'rename' needs axes of one size: '" + from + "' is " + std::to_string(call.graph.size(from)) + ", '" + to +
                           "' is " + std::to_string(call.graph.size(to)));
  *std::find(axes.begin(), axes.end(), from) = to;
  return TensorValue{call.graph.add(call.at, "rename", {x}, call.graph.type(x).over(axes), {{"from", from}, {"to", to}})};
}

Value gather(OperationCall &call) {
  int table = call.tensor(0), index = call.tensor(1);
  std::string over = call.axis(2);
  call.requireAxis(2, over, table, "the table");
  // An index that counts an axis is known: it must stay inside of the table.
  const Node &node = call.graph.model.nodes[static_cast<size_t>(index)];
  if (node.op == "index" && call.graph.size(node.type.axes[0]) > call.graph.size(over))
    call.reporter.fail(Code::A4, call.place(1),
                       "index(" + node.type.axes[0] + ") reaches " + std::to_string(call.graph.size(node.type.axes[0]) - 1) +
                           ", the table's axis '" + over + "' has size " + std::to_string(call.graph.size(over)));
  AxisNames axes = call.axesOf(index);
  if (contains(axes, over))
    call.reporter.fail(
        Code::A4, call.place(1), "the index has the axis '" + over + "', which it looks up: it is over " + textOf(axes),
        {"rename its axis before: rename(x, from = " + over + ", to = ...), or let the table be over another axis of that size"});
  for (const std::string &axis : without(call.axesOf(table), {over}))
    if (!contains(axes, axis)) // what both have is walked once
      axes.push_back(axis);
  return TensorValue{call.graph.add(call.at, "gather", {table, index}, call.graph.type(table).over(axes), {{"axis", over}})};
}

} // namespace

std::vector<Operation> contractionOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const NodeKind product{"einsum", 2};
  const OperationFormal over{"over", Formal::Axis};
  return {
      {"einsum", {{"a", Formal::Floats}, {"b", Formal::Floats}, {"over", Formal::Axes}}, einsum, {product}},
      {"project", {{"x", Formal::Floats}, {"weight", Formal::Floats}}, project, {product}},
      {"rename",
       {{"x", Formal::Tensor}, {"from", Formal::Axis}, {"to", Formal::Axis}},
       rename,
       {{"rename", 1, {{"from", Kind::Text}, {"to", Kind::Text}}}}},
      {"gather",
       {{"table", Formal::Tensor}, {"index", Formal::Indices}, over},
       gather,
       {{"gather", 2, {{"axis", Kind::Text}}, "embedding"}}},
  };
}

} // namespace npar::dsl
