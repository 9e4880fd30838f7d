// Follows losses and metrics back to inputs.
#include "dsl/UnfedMeasures.h"

#include <algorithm>

namespace npar::dsl {

std::vector<std::string> inputsOf(const Model &model, const std::vector<int> &nodes) {
  std::vector<bool> needed(model.nodes.size());
  for (int node : nodes)
    if (node >= 0)
      needed[static_cast<size_t>(node)] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (int operand : model.nodes[i].operands)
        needed[static_cast<size_t>(operand)] = true;
  std::vector<std::string> names;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && model.nodes[i].op == "input")
      names.push_back(std::get<std::string>(model.nodes[i].attributes.at("name")));
  return names;
}

UnfedMeasures leaveOutUnfed(Model &model, const std::set<std::string> &fed) {
  UnfedMeasures result;
  auto isUnfed = [&](const std::vector<int> &nodes, const std::string &name) {
    std::vector<std::string> missing;
    for (const std::string &input : inputsOf(model, nodes))
      if (fed.count(input) == 0)
        missing.push_back(input);
    for (const std::string &input : missing)
      if (std::find(result.inputs.begin(), result.inputs.end(), input) == result.inputs.end())
        result.inputs.push_back(input);
    if (!missing.empty())
      result.measures.push_back(name);
    return !missing.empty();
  };
  std::vector<Loss> losses;
  for (const Loss &loss : model.losses)
    if (!isUnfed({loss.node, loss.condition}, loss.name.empty() ? "the loss" : "loss '" + loss.name + "'"))
      losses.push_back(loss);
  std::vector<Metric> metrics;
  for (const Metric &metric : model.metrics) {
    std::vector<int> nodes = metric.nodes;
    nodes.push_back(metric.condition);
    if (!isUnfed(nodes, "metric '" + metric.name + "'"))
      metrics.push_back(metric);
  }
  model.losses = std::move(losses), model.metrics = std::move(metrics);
  return result;
}

} // namespace npar::dsl
