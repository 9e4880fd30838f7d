// Counts products with weights node by node.
#include "tools/lib/planner/search/BlockProducts.h"

#include "dsl/AxisSize.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace npar::planner {
namespace {

bool hasBatch(const dsl::Node &node) { return std::find(node.type.axes.begin(), node.type.axes.end(), "batch") != node.type.axes.end(); }

/// Tells for each node whether a trained parameter needs its gradient.
std::vector<bool> nodesWithGradient(const dsl::Program &program) {
  std::set<std::string> trained;
  for (size_t i = 0; i < program.model.parameters.size(); ++i)
    if (!program.model.parameters[i].untrained && (i >= program.train.parameters.size() || !program.train.parameters[i].frozen))
      trained.insert(program.model.parameters[i].path);
  std::vector<bool> found;
  for (const dsl::Node &node : program.model.nodes) {
    bool has = std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) { return found[static_cast<size_t>(operand)]; });
    if (node.op == "parameter")
      has = trained.count(std::get<std::string>(node.attributes.at("name"))) > 0;
    found.push_back(has && node.op != "stop_gradient" && !program::isInteger(node.type.element));
  }
  return found;
}

} // namespace

double multiplyAddsOfBlocks(const dsl::Program &program) {
  const dsl::Model &model = program.model;
  std::vector<bool> gradients = nodesWithGradient(program);
  double sum = 0;
  for (const dsl::Node &node : model.nodes) {
    bool isGrouped = node.op == "grouped";
    if ((node.op != "einsum" && !isGrouped) || node.block < 0 || node.block >= model.blocks)
      continue;
    const dsl::Node &left = model.nodes[static_cast<size_t>(node.operands[0])], &right = model.nodes[static_cast<size_t>(node.operands[1])];
    if (hasBatch(left) == hasBatch(right))
      continue;
    std::set<std::string> axes(left.type.axes.begin(), left.type.axes.end());
    axes.insert(right.type.axes.begin(), right.type.axes.end());
    if (isGrouped) // a row meets one expert
      axes.erase(std::get<std::string>(node.attributes.at("axis")));
    double products = 1;
    for (const std::string &axis : axes)
      if (axis != "batch")
        products *= static_cast<double>(std::max<int64_t>(1, dsl::axisSize(model, axis)));
    for (int operand : node.operands)
      sum += gradients[static_cast<size_t>(operand)] ? products : 0;
    sum += products;
  }
  return sum;
}

} // namespace npar::planner
