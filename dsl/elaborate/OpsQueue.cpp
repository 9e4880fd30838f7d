// The place of each choice among the equal ones before it, by which a text limits the choices of an entry (capacity).
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

namespace npar::dsl {

namespace node {
const NodeKind queue{"queue",
                     2,
                     {{"axis", AttributeKind::Text},
                      {"other", AttributeKind::Text},
                      {"entries", AttributeKind::Integer},
                      {"sorted", AttributeKind::Truth},
                      {"looks_ahead", AttributeKind::Truth, true}}};
} // namespace node

int queued(Graph &graph, Location at, int choice, const std::string &axis, int64_t entries, bool sorted, bool looksAhead) {
  int others = wholeAlong(graph, at, choice, axis);
  std::map<std::string, Attribute> attributes{{"axis", axis}, {"other", wholeName(axis)}, {"entries", entries}, {"sorted", sorted}};
  if (looksAhead)
    attributes.insert({"looks_ahead", true});
  return graph.add(at, "queue", {choice, others}, Graph::integers(graph.type(choice).axes), attributes);
}

namespace {

/// Argument `within`: the positions of a part of the sequence that has a queue of its own; all positions if it is not given.
int64_t positionsOfPart(OperationCall &call, size_t i, const std::string &seq) {
  const int64_t length = call.graph.size(seq);
  if (!call.has(i))
    return length;
  double within = call.number(i);
  if (!(within >= 1) || within > double(length) || length % int64_t(within) != 0 || within != double(int64_t(within)))
    call.reporter.fail(Code::A11, call.place(i),
                       "'within' must be a number of positions that divides axis '" + call.nameOf(seq) + "' of size " +
                           std::to_string(length) + ", this is " + textOf(call.value(i)),
                       length > 1 ? Helps{divisorsText(length, within >= 1 && within < 1e9 ? int64_t(within) : length)} : Helps{});
  return int64_t(within);
}

/// Argument `order`: whether all first choices come before all second ones.
bool isChoiceMajor(OperationCall &call, size_t i, bool matters) {
  if (!call.has(i))
    return false;
  const Value asked = call.value(i);
  if (auto *text = std::get_if<std::string>(&asked); text && (*text == "probability" || *text == "probs"))
    call.reporter.fail(Code::A11, call.place(i),
                       "'queue' has no order by probability: if the least probable choices are dropped, each position depends on "
                       "all others of its group",
                       {"use \"position\" or \"choice\"; a limit of probability, `where(share > 0.1, best, -1)`, needs no queue"});
  if (call.word(i) == "position")
    return false;
  if (matters)
    call.reporter.warning(call.place(i),
                          "the order \"choice\" is not causal: a second choice waits for the first choices of later positions, "
                          "so the model cannot generate");
  return true;
}

/// queue(choice, along = slot, to = expert): the number of earlier choices of the same entry.
Value queue(OperationCall &call) {
  Graph &graph = call.graph;
  int choice = call.tensor(0);
  const RoutedAxes routed = routedAxes(call, 0, 1, 2);
  const std::string &slot = routed.slot, flat = routed.seq + ".queue";
  const int64_t length = graph.size(routed.seq), within = positionsOfPart(call, 4, routed.seq);
  const bool choiceMajor = isChoiceMajor(call, 3, within > 1 && graph.size(slot) > 1);
  const std::string number = std::to_string(within), part = routed.seq + ".part" + number;
  std::string position = routed.seq, places = flat;
  int node = choice;
  if (within < length) {
    position += ".within" + number, places += number;
    graph.declareAxis(part, length / within, call.at);
    graph.declareAxis(position, within, call.at);
    node = folded(graph, call.at, node, routed.seq, part, position, true);
  }
  places += "." + slot + (choiceMajor ? ".major" : "");
  graph.declareAxis(places, within * graph.size(slot), call.at);
  const std::string major = choiceMajor ? slot : position, minor = choiceMajor ? position : slot;
  node = folded(graph, call.at, node, places, major, minor, false);
  AxisNames last = without(call.axesOf(node), {places});
  last.push_back(places);
  node = queued(graph, call.at, ordered(graph, call.at, node, last), places, graph.size(routed.expert), false,
                choiceMajor && within > 1 && graph.size(slot) > 1);
  node = folded(graph, call.at, node, places, major, minor, true);
  if (within < length)
    node = folded(graph, call.at, node, routed.seq, part, position, false);
  return TensorValue{ordered(graph, call.at, node, call.axesOf(choice))};
}

} // namespace

std::vector<Operation> queueOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  return {{"queue",
           {{"choice", Formal::Indices},
            {"along", Formal::Axis},
            {"to", Formal::Axis},
            {"order", std::vector<std::string>{"position", "choice"}},
            {"within", Formal::Number, 0.0}},
           queue,
           {{"rename", 1, {{"from", Kind::Text}, {"to", Kind::Text}}},
            {"fold", 1, {{"flat", Kind::Text}, {"major", Kind::Text}, {"minor", Kind::Text}}},
            node::queue,
            node::reorder}}};
}

} // namespace npar::dsl
