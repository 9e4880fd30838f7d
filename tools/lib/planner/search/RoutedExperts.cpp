// Finds the experts among the products of rows.
#include "tools/lib/planner/search/RoutedExperts.h"

#include "dsl/AxisSize.h"
#include "dsl/RoutedRows.h"

#include <set>

namespace npar::planner {
namespace {

const std::string &textOf(const dsl::Node &node, const char *attribute) { return std::get<std::string>(node.attributes.at(attribute)); }

} // namespace

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
