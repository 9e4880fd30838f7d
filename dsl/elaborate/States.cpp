// Elaborates what is computed once per training step, after its last micro-batch: updates of states, and numbers of the training log.
#include "dsl/NeededNodes.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {

using ast::Statement;

int ModelElaborator::stepValue(const Statement &s, Scope &scope, const std::string &what) {
  Value value = evaluate(*s.value, scope);
  if (!std::holds_alternative<TensorValue>(value) && !isNumber(value))
    reporter.fail(Code::A15, s.value->location, what + " must be a tensor, this is " + kindOf(value));
  int node = nodeOf(graph, s.value->location, value, true);
  if (graph.isTruth(node))
    reporter.fail(Code::A15, s.value->location, what + " must be numbers, this is " + describedTensor(graph, node),
                  {"write float(x) for 0 and 1"});
  if (const AxisNames &axes = graph.type(node).axes; contains(axes, "batch"))
    reporter.fail(Code::A15, s.value->location, what + " cannot keep the axis 'batch', this is over " + textOf(axes),
                  {"reduce it: sum(x, over = batch) or mean(x, over = batch) does not depend on the order of samples"});
  const std::vector<bool> needed = neededFor(graph.model, {node});
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node &made = graph.model.nodes[i];
    if (!needed[i] || made.op != "parameter")
      continue;
    const std::string &path = std::get<std::string>(made.attributes.at("name"));
    auto named = [&](const Parameter &p) { return p.path == path; };
    if (!std::find_if(graph.model.parameters.begin(), graph.model.parameters.end(), named)->untrained)
      reporter.fail(Code::A15, s.value->location, what + " can use only states and sums over 'batch', this needs parameter '" + path + "'",
                    {"the optimizer changes parameters in the same step"});
  }
  return graph.isFloat(node) ? node : graph.add(s.value->location, "to_float", {node}, graph.floating(graph.type(node).axes));
}

void ModelElaborator::checkOneUpdate(size_t state, Location at) {
  for (const StateUpdate &other : graph.model.updates)
    if (other.state == state) {
      reporter.error(Code::A15, at, "state '" + graph.model.parameters[state].path + "' is updated twice", other.location,
                     "first updated here", {instance ? "a layer with an update is called once" : "write one formula for both"});
      throw Stop{};
    }
}

void ModelElaborator::update(const Statement &s, Scope &scope) {
  Binding *binding = scope.find(s.name.text);
  auto *state = binding ? std::get_if<ParameterValue>(&binding->value) : nullptr;
  if (binding && std::holds_alternative<Poison>(binding->value))
    throw Stop{};
  if (!state || !graph.model.parameters[state->index].untrained)
    reporter.fail(Code::A15, s.name.location,
                  !binding ? "unknown state '" + s.name.text + "'"
                           : "'" + s.name.text + "' is " + kindOf(binding->value) + ", only a state is updated",
                  {"declare it with `state " + s.name.text + ": [axes] = zeros`"});
  const Parameter declared = graph.model.parameters[state->index]; // a copy: the formula may declare more
  const std::string what = "the update of '" + s.name.text + "'";
  size_t index = state->index;
  checkOneUpdate(index, s.location);
  int node = stepValue(s, scope, what);
  const AxisNames axes = graph.type(node).axes;
  if (axes.empty() && !declared.type.axes.empty()) // one number for all
    node = graph.add(s.value->location, "add", {node, graph.add(s.value->location, "fill", {}, declared.type, {{"value", 0.0}})},
                     declared.type);
  else if (!sameAxes(axes, declared.type.axes))
    reporter.fail(Code::A15, s.value->location, what + " must be over " + textOf(declared.type.axes) + ", this is over " + textOf(axes));
  graph.model.updates.push_back({index, ordered(graph, s.value->location, node, declared.type.axes), s.location});
}

void ModelElaborator::log(const Statement &s, Scope &scope) {
  constexpr int64_t most = 1024;
  LoggedValue value{(graph.path.empty() ? "" : graph.path + ".") + s.name.text, -1, s.location};
  for (const LoggedValue &other : graph.model.logged)
    if (other.name == value.name) {
      reporter.error(Code::A15, s.name.location, "'" + value.name + "' is logged twice", other.location, "first logged here",
                     {instance ? "a layer that logs something is called once" : "give one of them another name"});
      throw Stop{};
    }
  value.node = stepValue(s, scope, "a number of the log");
  const AxisNames &axes = graph.type(value.node).axes;
  if (graph.routingOfRows(value.node))
    reporter.fail(Code::A15, s.value->location,
                  "the log holds no rows of experts, whose number depends on the plan: this is over " + textOf(axes),
                  {"bring them back to their positions with `combine` and reduce that"});
  if (axes.size() > 1)
    reporter.fail(Code::A15, s.value->location, "the log holds numbers and lists, this is over " + textOf(axes),
                  {"reduce it over all axes except one"});
  if (!axes.empty() && graph.size(axes[0]) > most)
    reporter.fail(Code::A15, s.value->location,
                  "axis '" + axes[0] + "' has size " + std::to_string(graph.size(axes[0])) + ", a list of the log has at most " +
                      std::to_string(most) + " numbers",
                  {"log its largest and smallest entries: max(x, over = " + axes[0] + ")"});
  graph.model.logged.push_back(std::move(value));
}

} // namespace npar::dsl
