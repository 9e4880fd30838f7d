// Normalization over several axes of each sample (Wu and He 2018), with statistics in float32 under every type.
#include "dsl/elaborate/Operation.h"
#include "dsl/elaborate/Unrounded.h"

namespace npar::dsl {
namespace {

using ast::Operator;

/// A parameter that is applied after the norm.
int appliedTo(OperationCall &call, size_t i, const char *what, int x) {
  const int node = call.tensor(i);
  for (const std::string &axis : call.axesOf(node))
    if (axis == "batch" || !contains(call.axesOf(x), axis))
      call.reporter.fail(Code::A12, call.place(i),
                         std::string(what) + " of 'group_norm' must be over axes of the operand except 'batch', " +
                             textOf(without(call.axesOf(x), {"batch"})) + ", this is over " + textOf(call.axesOf(node)));
  return node;
}

Value groupNorm(OperationCall &call) {
  Graph &graph = call.graph;
  const int x = call.tensor(0);
  const AxisNames over = call.axes(3), axes = call.axesOf(x), groups = without(axes, over);
  double count = 1;
  for (const std::string &axis : over) {
    call.requireAxis(3, axis, x, "the operand");
    count *= static_cast<double>(graph.size(axis));
  }
  const Value weight = TensorValue{appliedTo(call, 1, "the weight", x)};
  const Value bias = TensorValue{appliedTo(call, 2, "the bias", x)};
  const double epsilon = epsilonOf(call, 4);

  auto both = [&](Operator op, const Value &a, const Value &b) { return tensorArithmetic(graph, call.reporter, op, call.at, a, b); };
  auto node = [&](const Value &value) { return nodeOf(graph, call.at, value, true); };
  auto mean = [&](const Value &each) { return both(Operator::Multiply, call.add("sum", {node(each)}, groups), 1 / count); };
  std::optional<Unrounded> wide(graph);
  const Value difference = both(Operator::Subtract, TensorValue{x}, mean(TensorValue{x}));
  const int variance = node(both(Operator::Add, mean(both(Operator::Multiply, difference, difference)), epsilon));
  const Value scale = both(Operator::Divide, weight, call.add("sqrt", {variance}, groups));
  const Value y = both(Operator::Multiply, difference, scale);
  wide.reset();
  return TensorValue{ordered(graph, call.at, node(both(Operator::Add, y, bias)), axes)};
}

} // namespace

std::vector<Operation> groupNormOperations() {
  using Formal = FormalKind;
  return {{"group_norm",
           {{"x", Formal::Floats},
            {"weight", Formal::Floats},
            {"bias", Formal::Floats},
            {"over", Formal::Axes},
            {"epsilon", Formal::Number, 1e-5}},
           groupNorm,
           {{"sum", 1}, {"mul", 2}, {"sqrt", 1}, node::add, node::sub, node::div, node::scale, node::shift}}};
}

} // namespace npar::dsl
