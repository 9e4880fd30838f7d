// Compares the axes of rows and positions.
#include "dsl/RoutedRows.h"

#include "dsl/AxisSize.h"

#include <algorithm>

namespace npar::dsl {

std::map<std::string, int64_t> choicesByRows(const Model &model) {
  std::map<std::string, int64_t> choices;
  auto textOf = [](const Node &node, const char *attribute) { return std::get<std::string>(node.attributes.at(attribute)); };
  for (const Node &node : model.nodes)
    if (node.op == "dispatch") {
      const std::string row = textOf(node, "row");
      const int64_t each = axisSize(model, row) / std::max<int64_t>(1, axisSize(model, textOf(node, "seq")));
      choices[row] = std::max(choices[row], each); // weights are dispatched over their choices: one row each
    }
  return choices;
}

} // namespace npar::dsl
