// Walks from nodes to their operands.
#include "dsl/NeededNodes.h"

#include <algorithm>

namespace npar::dsl {

bool isOverBatch(const Model &model, const Node &node) {
  auto hasBatch = [](const TensorType &type) { return std::find(type.axes.begin(), type.axes.end(), "batch") != type.axes.end(); };
  return node.op == "sum" && !hasBatch(node.type) && std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) {
           return hasBatch(model.nodes[static_cast<size_t>(operand)].type);
         });
}

std::vector<bool> neededFor(const Model &model, const std::vector<int> &nodes) {
  std::vector<bool> needed(model.nodes.size());
  for (int node : nodes)
    if (node >= 0)
      needed[static_cast<size_t>(node)] = true;
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i] && !isOverBatch(model, model.nodes[i]))
      for (int operand : model.nodes[i].operands)
        needed[static_cast<size_t>(operand)] = true;
  return needed;
}

} // namespace npar::dsl
