// Follows each parameter to the operations in which rows meet their own entries of it.
#include "dsl/ParameterCounts.h"

#include "dsl/RoutedRows.h"

#include <algorithm>
#include <set>

namespace npar::dsl {
namespace {

bool hasName(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string textAttribute(const Node &node, const std::string &attribute) {
  auto found = node.attributes.find(attribute);
  auto *text = found == node.attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

/// An operation that names an axis looks along it, and its result depends on all entries.
bool looksAlong(const Node &node, const std::string &axis) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [&](const auto &attribute) {
    auto *text = std::get_if<std::string>(&attribute.second);
    auto *names = std::get_if<std::vector<std::string>>(&attribute.second);
    return (text && *text == axis) || (names && hasName(*names, axis));
  });
}

class ParameterCounter {
public:
  explicit ParameterCounter(const Model &model) : model(model), users(model.nodes.size()), choices(choicesByRows(model)) {
    for (const Axis &axis : model.axes)
      sizes[axis.name] = axis.size;
    for (size_t i = 0; i < model.nodes.size(); ++i) {
      const Node &node = model.nodes[i];
      for (size_t operand = 0; operand < node.operands.size(); ++operand)
        users[static_cast<size_t>(node.operands[operand])].push_back({static_cast<int>(i), operand});
      if (node.op == "parameter")
        uses[textAttribute(node, "name")].push_back(static_cast<int>(i));
    }
  }

  ParameterCounts run() {
    ParameterCounts counts;
    for (const Parameter &parameter : model.parameters) {
      int64_t elements = 1;
      for (const std::string &axis : parameter.type.axes)
        elements *= sizes.at(axis);
      if (parameter.untrained) {
        counts.states += elements;
        continue;
      }
      int64_t active = elements;
      for (const std::string &axis : parameter.type.axes)
        active = std::min(active, elements / sizes.at(axis) * entriesMet(parameter.path, axis));
      counts.all += elements;
      counts.active += active;
      counts.tables += active == elements && isTable(parameter.path) ? elements : 0;
    }
    return counts;
  }

private:
  /// Returns whether entries of a parameter are looked up, and nothing else is done with it.
  bool isTable(const std::string &path) {
    auto isLookUp = [&](const std::pair<int, size_t> &use) {
      return model.nodes[static_cast<size_t>(use.first)].op == "gather" && use.second == 0;
    };
    const std::vector<int> &all = uses[path];
    return !all.empty() && std::all_of(all.begin(), all.end(), [&](int use) {
      const auto &its = users[static_cast<size_t>(use)];
      return !its.empty() && std::all_of(its.begin(), its.end(), isLookUp);
    });
  }

  /// Entries of an axis of a parameter that a position meets.
  int64_t entriesMet(const std::string &path, const std::string &axis) {
    std::set<std::string> rows;
    for (int use : uses[path])
      if (!isMetByRows(use, axis, rows))
        return sizes.at(axis);
    int64_t met = 0;
    for (const std::string &row : rows)
      met += choices.at(row);
    return rows.empty() ? sizes.at(axis) : std::min(met, sizes.at(axis));
  }

  /// Whether everything that is computed from a node meets its entries one row at a time. Adds the axes of these rows.
  bool isMetByRows(int number, const std::string &axis, std::set<std::string> &rows) {
    const auto &all = users[static_cast<size_t>(number)];
    return !all.empty() && std::all_of(all.begin(), all.end(), [&](const auto &use) {
      const Node &node = model.nodes[static_cast<size_t>(use.first)];
      if (std::string row = rowOf(node, use.second, axis); !row.empty()) {
        rows.insert(row);
        return true;
      }
      return hasName(node.type.axes, axis) && !looksAlong(node, axis) && isMetByRows(use.first, axis, rows);
    });
  }

  /// The axis of rows if they meet their own entries of this operand; else empty.
  std::string rowOf(const Node &node, size_t operand, const std::string &axis) const {
    if (node.op == "grouped" && operand == 1 && textAttribute(node, "axis") == axis && choices.count(textAttribute(node, "row")))
      return textAttribute(node, "row");
    if (node.op == "gather" && operand == 0 && textAttribute(node, "axis") == axis)
      for (const std::string &each : model.nodes[static_cast<size_t>(node.operands[1])].type.axes)
        if (choices.count(each))
          return each;
    return "";
  }

  const Model &model;
  std::map<std::string, int64_t> sizes;
  std::vector<std::vector<std::pair<int, size_t>>> users; ///< node and operand
  std::map<std::string, std::vector<int>> uses;           ///< of parameters
  const std::map<std::string, int64_t> choices;           ///< choicesByRows
};

} // namespace

ParameterCounts countParameters(const Model &model) { return ParameterCounter(model).run(); }

} // namespace npar::dsl
