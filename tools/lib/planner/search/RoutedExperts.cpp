// Finds the experts among the products of rows.
#include "tools/lib/planner/search/RoutedExperts.h"

#include "dsl/AxisSize.h"
#include "dsl/RoutedRows.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace npar::planner {
namespace {

const std::string &textOf(const dsl::Node &node, const char *attribute) { return std::get<std::string>(node.attributes.at(attribute)); }

} // namespace

double RoutedExperts::worstLoad(int64_t ep) const {
  int64_t own = (count + ep - 1) / ep; // experts of a rank
  return static_cast<double>(ep * std::min(choices, own)) / static_cast<double>(choices);
}

int64_t RoutedExperts::rounds(int64_t ep, double buffer) const {
  return buffer > 0 ? std::max<int64_t>(1, std::llround(std::ceil(worstLoad(ep) / buffer - 1e-9))) : 1;
}

bool countsPositions(const dsl::Program &program) {
  return std::any_of(program.model.nodes.begin(), program.model.nodes.end(), [](const dsl::Node &node) {
    return node.op == "dispatch" || node.op == "queue" || (node.op == "cumsum" && textOf(node, "end") == "seq");
  });
}

RoutedExperts routedExpertsOf(const dsl::Program &program) {
  const dsl::Model &model = program.model;
  RoutedExperts experts;
  const std::map<std::string, int64_t> choices = dsl::choicesByRows(model);
  std::set<int> routings; // by the node with the first row of each expert
  for (const dsl::Node &node : model.nodes) {
    if (node.op != "grouped" || (!experts.axis.empty() && textOf(node, "axis") != experts.axis))
      continue;
    if (experts.axis.empty()) {
      experts.axis = textOf(node, "axis");
      experts.count = dsl::axisSize(model, experts.axis);
      experts.choices = choices.at(textOf(node, "row"));
    }
    routings.insert(node.operands[2]);
    double elements = 1;
    for (const std::string &axis : model.nodes[static_cast<size_t>(node.operands[1])].type.axes)
      elements *= static_cast<double>(dsl::axisSize(model, axis));
    experts.parameters += elements;
  }
  experts.layers = static_cast<int64_t>(routings.size());
  return experts;
}

} // namespace npar::planner
