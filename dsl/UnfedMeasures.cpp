// Follows losses and metrics back to inputs.
#include "dsl/UnfedMeasures.h"
#include "dsl/NeededNodes.h"

#include <algorithm>
#include <functional>

namespace npar::dsl {

namespace {

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

/// Names of the model's inputs that some of these nodes are computed from, in the order of the model.
std::vector<std::string> inputsOf(const Model &model, const std::vector<int> &nodes) {
  const std::vector<bool> needed = neededFor(model, nodes);
  std::vector<std::string> names;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && model.nodes[i].op == "input")
      names.push_back(std::get<std::string>(model.nodes[i].attributes.at("name")));
  return names;
}

} // namespace

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
      if (needed[i] && model.nodes[i].op == "group_total")
        return true;
    return false;
  });
}

} // namespace npar::dsl
