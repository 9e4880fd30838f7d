// Follows losses and metrics back to inputs.
#include "dsl/UnfedMeasures.h"

#include <algorithm>
#include <functional>

namespace npar::dsl {

namespace {

/// Tells for each node whether one of these is computed from it.
std::vector<bool> neededFor(const Model &model, const std::vector<int> &nodes) {
  std::vector<bool> needed(model.nodes.size());
  for (int node : nodes)
    if (node >= 0)
      needed[static_cast<size_t>(node)] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (int operand : model.nodes[i].operands)
        needed[static_cast<size_t>(operand)] = true;
  return needed;
}

using Measures = std::vector<std::pair<std::string, Location>>;

/// Leaves out the losses and metrics for whose nodes `isWithout` holds. Returns their names and places.
Measures leaveOut(Model &model, const std::function<bool(const std::vector<int> &)> &isWithout) {
  Measures left;
  std::vector<Loss> losses;
  for (const Loss &loss : model.losses)
    if (isWithout({loss.node, loss.condition}))
      left.emplace_back(loss.name.empty() ? "the loss" : "loss '" + loss.name + "'", loss.location);
    else
      losses.push_back(loss);
  std::vector<Metric> metrics;
  for (const Metric &metric : model.metrics) {
    std::vector<int> nodes = metric.nodes;
    nodes.push_back(metric.condition);
    if (isWithout(nodes))
      left.emplace_back("metric '" + metric.name + "'", metric.location);
    else
      metrics.push_back(metric);
  }
  model.losses = std::move(losses), model.metrics = std::move(metrics);
  return left;
}

} // namespace

std::vector<std::string> inputsOf(const Model &model, const std::vector<int> &nodes) {
  const std::vector<bool> needed = neededFor(model, nodes);
  std::vector<std::string> names;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && model.nodes[i].op == "input")
      names.push_back(std::get<std::string>(model.nodes[i].attributes.at("name")));
  return names;
}

UnfedMeasures leaveOutUnfed(Model &model, const std::set<std::string> &fed) {
  UnfedMeasures result;
  const Measures left = leaveOut(model, [&](const std::vector<int> &nodes) {
    bool isUnfed = false;
    for (const std::string &input : inputsOf(model, nodes))
      if (fed.count(input) == 0) {
        isUnfed = true;
        if (std::find(result.inputs.begin(), result.inputs.end(), input) == result.inputs.end())
          result.inputs.push_back(input);
      }
    return isUnfed;
  });
  for (const auto &[name, at] : left)
    result.measures.push_back(name);
  return result;
}

Measures leaveOutMixed(Model &model) {
  return leaveOut(model, [&](const std::vector<int> &nodes) {
    const std::vector<bool> needed = neededFor(model, nodes);
    for (size_t i = 0; i < needed.size(); ++i)
      if (const Node &node = model.nodes[i];
          needed[i] && node.op == "rename" && std::get<std::string>(node.attributes.at("from")) == "batch")
        return true;
    return false;
  });
}

} // namespace npar::dsl
