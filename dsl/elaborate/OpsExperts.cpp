// Mixture of experts: rows that are sent to the entries of an axis chosen for them, what each row meets there, and the way back.
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// Tells whether the choices of a position are different entries: some of those that `top_k` chose, the others being none.
bool areDistinct(const Graph &graph, int choice, const Routing &routing) {
  auto nodeAt = [&](int number) -> const Node & { return graph.model.nodes[static_cast<size_t>(number)]; };
  auto isNone = [&](int number) { return nodeAt(number).op == "fill" && std::get<double>(nodeAt(number).attributes.at("value")) < 0; };
  auto isAlong = [&](const Node &node, const char *attribute, const std::string &axis) {
    return std::get<std::string>(node.attributes.at(attribute)) == axis;
  };
  const Node *node = &nodeAt(choice);
  while (node->op == "where" && (isNone(node->operands[1]) || isNone(node->operands[2])))
    node = &nodeAt(node->operands[isNone(node->operands[1]) ? 2 : 1]);
  return node->op == "find" && isAlong(*node, "axis", routing.expert) && isAlong(*node, "along", routing.slot) &&
         nodeAt(node->operands[0]).op == "order";
}

/// Adds the nodes of a routing: a stable sort of the choices of each sample, its inverse, and the rows of each entry.
class Router {
public:
  Router(Graph &graph, Location at, int choice, Routing routing) : graph(graph), at(at), choice(choice), routing(std::move(routing)) {}

  size_t run() {
    samples = without(graph.type(choice).axes, {routing.seq, routing.slot});
    routing.row = routing.seq + "." + routing.slot + ".row";
    flat = routing.seq + "." + routing.slot;
    for (const std::string &name : {routing.row, flat})
      graph.declareAxis(name, graph.size(routing.seq) * graph.size(routing.slot), at);
    entries = ordered(graph, at, folded(graph, at, choice, flat, routing.seq, routing.slot, false), with(samples, flat));
    int exists = integer({compare("less_equal", number(0), entries), compare("less", entries, number(graph.size(routing.expert)))}, "and");
    routing.flatPlace = choose(exists, queued(graph, at, entries, flat, graph.size(routing.expert), true), number(-1));
    routing.source = locate(routing.flatPlace, routing.row);
    routing.place = ascendingPlaces();
    routing.first = countBelow(false);
    routing.last = countBelow(true);
    routing.owner = owners();
    routing.distinct = areDistinct(graph, choice, routing);
    size_t number = graph.declareRouting(routing);
    graph.assignRouting(routing.owner, number);
    return number;
  }

private:
  int number(int64_t value) { return nodeOf(graph, at, value, false); }
  int integer(std::vector<int> operands, const char *kind) {
    TensorType type = Graph::integers(unionOf(graph, operands));
    type.truth = graph.isTruth(operands[0]);
    return graph.add(at, "integer", std::move(operands), type, {{"kind", std::string(kind)}});
  }
  int compare(const char *relation, int a, int b) {
    return graph.add(at, "compare", {a, b}, Graph::truths(unionOf(graph, {a, b})), {{"relation", std::string(relation)}});
  }
  int choose(int condition, int x, int y) {
    return graph.add(at, "where", {condition, x, y}, Graph::integers(unionOf(graph, {condition, x, y})));
  }
  int index(const std::string &axis) { return graph.add(at, "index", {}, Graph::integers({axis})); }
  /// The place of each entry along an axis in ascending order; of equal ones the first comes first.
  int ascending(int x, const std::string &axis) {
    int descending = integer({number(0), x}, "sub");
    int others = wholeAlong(graph, at, descending, axis);
    return graph.add(at, "order", {descending, others}, graph.type(x), {{"axis", axis}, {"other", wholeName(axis)}});
  }
  /// The entry of `axis` whose number in `x` is that of the entry of `along`.
  int find(int x, const std::string &axis, const std::string &along) {
    AxisNames axes = graph.type(x).axes;
    std::replace(axes.begin(), axes.end(), axis, along);
    return graph.add(at, "find", {x}, Graph::integers(std::move(axes)), {{"axis", axis}, {"along", along}});
  }

  static AxisNames with(AxisNames axes, const std::string &last) {
    axes.push_back(last);
    return axes;
  }
  /// The number of the choice that has each row; -1 for a row of no choice.
  int locate(int x, const std::string &along) {
    return graph.add(at, "locate", {x}, Graph::integers(with(samples, along)), {{"axis", flat}, {"along", along}});
  }

  /// The rows of a position in ascending order, so that what its choices contribute is added in this order.
  int ascendingPlaces() {
    const std::string seq = wholeName(routing.seq), slot = wholeName(routing.slot), sorted = routing.slot + ".sorted";
    int place = folded(graph, at, routing.flatPlace, flat, seq, slot, true);
    if (graph.size(routing.slot) == 1)
      return place;
    graph.declareAxis(sorted, graph.size(routing.slot), at);
    int where = find(ascending(place, slot), slot, sorted);
    return graph.add(at, "gather", {place, where}, graph.type(where), {{"axis", slot}});
  }

  /// The rows of an entry follow those of the entries before it.
  int countBelow(bool inclusive) {
    return graph.add(at, "count_below", {entries}, Graph::integers(with(samples, routing.expert)),
                     {{"axis", flat}, {"to", routing.expert}, {"entries", graph.size(routing.expert)}, {"inclusive", inclusive}});
  }

  /// The entry of each row; for a row of none a number that no entry has.
  int owners() {
    int owner = graph.add(at, "gather", {entries, routing.source}, Graph::integers(with(samples, routing.row)), {{"axis", flat}});
    return choose(compare("less", routing.source, number(0)), number(graph.size(routing.expert)), owner);
  }

  Graph &graph;
  const Location at;
  const int choice;
  Routing routing;
  AxisNames samples;
  std::string flat;
  int entries = -1; ///< the choices, one after the other
};

/// x with the axis of rows in the place of that of positions.
int dispatched(Graph &graph, Location at, int x, const std::string &seq, size_t number, int place) {
  const Routing &routing = graph.routing(number);
  TensorType type = graph.type(x);
  std::replace(type.axes.begin(), type.axes.end(), seq, routing.row);
  int rows =
      graph.add(at, "dispatch", {x, routing.source, place}, type, {{"seq", seq}, {"row", routing.row}, {"distinct", routing.distinct}});
  graph.assignRouting(rows, number);
  return rows;
}

/// dispatch(x, choice, along = slot, to = expert)
Value dispatch(OperationCall &call) {
  Graph &graph = call.graph;
  int x = call.tensor(0), choice = call.tensor(1);
  const RoutedAxes routed = routedAxes(call, 1, 2, 3);
  const std::string &seq = routed.seq, &slot = routed.slot, &expert = routed.expert;
  AxisNames order = without(call.axesOf(choice), {seq, slot});
  order.push_back(seq);
  for (const std::string &axis : order)
    if (!contains(call.axesOf(x), axis))
      call.reporter.fail(Code::A11, call.place(0),
                         "x has no axis '" + call.nameOf(axis) + "', over which choices are made: it is over " + textOf(call.axesOf(x)));
  for (const std::string &axis : {expert, slot})
    if (contains(call.axesOf(x), axis))
      call.reporter.fail(Code::A11, call.place(0),
                         "x already has the axis '" + call.nameOf(axis) + "', which 'dispatch' chooses along or sends to: it is over " +
                             textOf(call.axesOf(x)));
  for (const std::string &axis : without(call.axesOf(x), order))
    order.push_back(axis);
  size_t number = graph.routingOf(choice, slot, expert, [&](Routing routing) {
    routing.seq = seq;
    return Router(graph, call.at, choice, std::move(routing)).run();
  });
  int whole = wholeAlong(graph, call.at, ordered(graph, call.at, x, order), seq);
  return TensorValue{dispatched(graph, call.at, whole, wholeName(seq), number, graph.routing(number).place)};
}

/// Returns whether a weight of the single choice of a position is 1 whatever the scores: divided by its own sum, or a softmax of itself.
bool isAlwaysOne(const Graph &graph, int weight, const std::string &slot) {
  auto node = [&](int number) -> const Node & { return graph.model.nodes[static_cast<size_t>(number)]; };
  auto behind = [&](int number, const std::vector<std::string> &kinds) {
    while (std::find(kinds.begin(), kinds.end(), node(number).op) != kinds.end())
      number = node(number).operands[0];
    return number;
  };
  const Node &last = node(behind(weight, {"reorder", "scale"}));
  if (last.op == "softmax")
    return last.attributes.at("axis") == Attribute(slot);
  if (last.op != "div")
    return false;
  const Node &sum = node(behind(last.operands[1], {"reorder", "shift"})); // shift: a small number against a sum of 0
  return sum.op == "sum" && !contains(sum.type.axes, slot) &&
         behind(sum.operands[0], {"reorder", "scale"}) == behind(last.operands[0], {"reorder", "scale"});
}

/// Each row times the weight of its choice.
int weighted(OperationCall &call, int rows, size_t number) {
  Graph &graph = call.graph;
  const Routing routing = graph.routing(number);
  int weight = call.tensor(1);
  AxisNames axes = without(call.axesOf(rows), {routing.row});
  AxisNames samples = without(graph.type(routing.source).axes, {routing.row}), wanted = samples;
  wanted.insert(wanted.end(), {routing.seq, routing.slot});
  if (!sameAxes(call.axesOf(weight), wanted))
    call.reporter.fail(Code::A11, call.place(1),
                       "the weights of 'combine' must be over the axes of the choice, " + textOf(wanted) + ": they are over " +
                           textOf(call.axesOf(weight)));
  if (graph.size(routing.slot) == 1 && isAlwaysOne(graph, weight, routing.slot))
    call.reporter.warning(call.place(1),
                          "this weight is 1 whatever the router computes, because each position has one choice and the weights "
                          "of a position are divided by their sum: the router gets no gradient from it",
                          {"leave the division out for a single choice"});
  const std::string flat = routing.seq + "." + routing.slot;
  int each = folded(graph, call.at, ordered(graph, call.at, weight, wanted), flat, routing.seq, routing.slot, false);
  int factors = dispatched(graph, call.at, each, flat, number, routing.flatPlace);
  return call.add("mul", {rows, factors}, call.axesOf(rows)).node;
}

/// combine(rows, weight): the sum over the choices of a position.
Value combine(OperationCall &call) {
  Graph &graph = call.graph;
  int rows = call.tensor(0);
  std::optional<size_t> number = graph.routingOfRows(rows);
  if (!number)
    call.reporter.fail(Code::A11, call.place(0),
                       "argument 'rows' of 'combine' must be rows that 'dispatch' made, this is " + describedTensor(graph, rows));
  const Routing routing = graph.routing(*number);
  if (call.has(1))
    rows = weighted(call, rows, *number);
  AxisNames order = without(graph.type(routing.source).axes, {routing.row});
  order.push_back(routing.row);
  for (const std::string &axis : without(call.axesOf(rows), order))
    order.push_back(axis);
  rows = ordered(graph, call.at, rows, order);
  const std::string whole = wholeName(routing.seq);
  TensorType type = graph.type(rows);
  std::replace(type.axes.begin(), type.axes.end(), routing.row, whole);
  int sum = graph.add(call.at, "collect", {rows, routing.source, routing.place}, type, {{"seq", whole}, {"row", routing.row}});
  std::replace(type.axes.begin(), type.axes.end(), whole, routing.seq);
  return TensorValue{graph.add(call.at, "rename", {sum}, type, {{"from", whole}, {"to", routing.seq}})};
}

} // namespace

RoutedAxes routedAxes(OperationCall &call, size_t choice, size_t along, size_t to) {
  const int node = call.tensor(choice);
  RoutedAxes routed{{}, call.axis(along), call.axis(to)};
  call.requireAxis(along, routed.slot, node, "the choice");
  call.refuseBatch(to, routed.expert);
  const AxisNames positions = without(call.axesOf(node), {"batch", routed.slot});
  if (positions.size() != 1)
    call.reporter.fail(Code::A11, call.place(choice),
                       "'" + call.name + "' needs choices over one axis of positions besides 'batch' and '" + call.nameOf(routed.slot) +
                           "': these are over " + textOf(call.axesOf(node)));
  routed.seq = positions[0];
  if (contains(call.axesOf(node), routed.expert))
    call.reporter.fail(Code::A11, call.place(to),
                       "choices over '" + call.nameOf(routed.expert) + "' cannot be entries of it: they are over " +
                           textOf(call.axesOf(node)));
  return routed;
}

int entriesOfRows(Graph &graph, Location at, int x, int rows) {
  std::optional<size_t> number = graph.routingOfRows(rows);
  if (!number)
    return x;
  const Routing routing = graph.routing(*number);
  if (!contains(graph.type(x).axes, routing.expert) || contains(graph.type(x).axes, routing.row))
    return x;
  AxisNames axes = graph.type(routing.owner).axes;
  for (const std::string &axis : without(graph.type(x).axes, {routing.expert}))
    if (!contains(axes, axis))
      axes.push_back(axis);
  return graph.add(at, "gather", {x, routing.owner}, graph.type(x).over(axes), {{"axis", routing.expert}});
}

std::optional<TensorValue> groupedProduct(OperationCall &call, int rows, int weights, const AxisNames &over) {
  Graph &graph = call.graph;
  std::optional<size_t> number = graph.routingOfRows(rows);
  const AxisNames &axes = graph.type(weights).axes;
  if (!number || !contains(axes, graph.routing(*number).expert) || contains(axes, graph.routing(*number).row))
    return std::nullopt;
  const Routing routing = graph.routing(*number);
  AxisNames samples = graph.type(routing.source).axes, features = without(graph.type(rows).axes, samples);
  AxisNames made = without(axes, over);
  made = without(made, {routing.expert});
  if (!sameAxes(features, over))
    call.reporter.fail(Code::A11, call.at,
                       "'" + call.name + "' of rows sent to the entries of '" + call.nameOf(routing.expert) +
                           "' must contract all their features, " + textOf(features) + ", with each entry's own: it contracts " +
                           textOf(over));
  for (const std::string &axis : made)
    if (contains(samples, axis))
      call.reporter.fail(Code::A11, call.at,
                         "the matrices of the entries of '" + call.nameOf(routing.expert) + "' cannot be over '" + axis +
                             "', an axis of the rows: they are over " + textOf(axes));
  // Features follow each other in the same order in all three.
  AxisNames contracted, rowOrder = samples, weightOrder{routing.expert}, result = samples;
  for (const std::string &axis : axes)
    if (contains(over, axis))
      contracted.push_back(axis);
  bool madeFirst = axes.size() > 1 && axes[0] == routing.expert && contains(made, axes[1]);
  rowOrder.insert(rowOrder.end(), contracted.begin(), contracted.end());
  for (const AxisNames *part : {madeFirst ? &made : &contracted, madeFirst ? &contracted : &made})
    weightOrder.insert(weightOrder.end(), part->begin(), part->end());
  result.insert(result.end(), made.begin(), made.end());
  int a = ordered(graph, call.at, rows, rowOrder), b = ordered(graph, call.at, weights, weightOrder);
  int product = graph.add(call.at, "grouped", {a, b, routing.first, routing.last}, graph.floating(result),
                          {{"axis", routing.expert}, {"row", routing.row}});
  return TensorValue{product};
}

std::vector<Operation> expertOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const NodeKind renamed{"rename", 1, {{"from", Kind::Text}, {"to", Kind::Text}}};
  const NodeKind fold{"fold", 1, {{"flat", Kind::Text}, {"major", Kind::Text}, {"minor", Kind::Text}}};
  const NodeKind sent{"dispatch", 3, {{"seq", Kind::Text}, {"row", Kind::Text}, {"distinct", Kind::Truth}}};
  return {
      {"dispatch",
       {{"x", Formal::Floats}, {"choice", Formal::Indices}, {"along", Formal::Axis}, {"to", Formal::Axis}},
       dispatch,
       {renamed,
        fold,
        sent,
        node::queue,
        {"count_below", 1, {{"axis", Kind::Text}, {"to", Kind::Text}, {"entries", Kind::Integer}, {"inclusive", Kind::Truth}}},
        {"locate", 1, {{"axis", Kind::Text}, {"along", Kind::Text}}},
        {"order", 2, {{"axis", Kind::Text}, {"other", Kind::Text}}},
        {"find", 1, {{"axis", Kind::Text}, {"along", Kind::Text}}},
        {"gather", 2, {{"axis", Kind::Text}}, "embedding"},
        {"where", 3},
        {"index", 0},
        {"grouped", 4, {{"axis", Kind::Text}, {"row", Kind::Text}}},
        node::reorder,
        node::integer,
        node::compare,
        node::fill}},
      {"combine",
       {{"rows", Formal::Floats}, {"weight", Formal::Floats, true}},
       combine,
       {renamed, fold, sent, {"collect", 3, {{"seq", Kind::Text}, {"row", Kind::Text}}}, node::mul, node::reorder}},
  };
}

} // namespace npar::dsl
