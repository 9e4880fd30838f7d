// Equal values are one node; a node that several others use becomes a definition in the text.
#include "dsl/elaborate/OptimizerFormulas.h"

#include "dsl/constants/Value.h"

#include <algorithm>

namespace npar::dsl {

OptimizerFormulas::Node OptimizerFormulas::add(Item item) {
  std::string key = item.function + "(" + item.text;
  for (Node operand : item.operands)
    key += "," + std::to_string(operand);
  auto [found, isNew] = known.insert({key, nodes.size()});
  if (isNew)
    nodes.push_back(std::move(item));
  return found->second;
}

OptimizerFormulas::Node OptimizerFormulas::leaf(const std::string &name, bool perElement) { return add({"", name, {}, perElement, false}); }

OptimizerFormulas::Node OptimizerFormulas::number(double value) { return add({"", textOf(value), {}, false, true}); }

OptimizerFormulas::Node OptimizerFormulas::apply(const std::string &function, std::vector<Node> operands) {
  bool perElement = std::any_of(operands.begin(), operands.end(), [&](Node operand) { return nodes[operand].perElement; });
  return add({function, "", std::move(operands), perElement, false});
}

bool OptimizerFormulas::isTruth(Node node) const {
  const std::string &function = nodes[node].function;
  return function == "less" || function == "equal" || function == "and" || function == "or" || function == "not";
}

bool OptimizerFormulas::dependsOn(Node node, Node leaf) const {
  std::vector<bool> seen(nodes.size());
  std::vector<Node> open{node};
  while (!open.empty()) {
    Node next = open.back();
    open.pop_back();
    if (next == leaf)
      return true;
    if (seen[next])
      continue;
    seen[next] = true;
    open.insert(open.end(), nodes[next].operands.begin(), nodes[next].operands.end());
  }
  return false;
}

class OptimizerFormulas::Writer {
public:
  /// `perStep` null: the formulas are those of a step.
  Writer(const OptimizerFormulas &graph, std::vector<Node> *perStep) : nodes(graph.nodes), perStep(perStep), uses(nodes.size()) {}

  Formulas write(const std::vector<Node> &results) {
    for (Node result : results)
      count(result);
    Formulas text;
    for (Node result : results)
      define(result, text.definitions);
    for (Node result : results)
      text.results.push_back(term(result));
    return text;
  }

private:
  bool isHoisted(Node node) const { return perStep && !nodes[node].perElement && !nodes[node].isNumber; }
  bool isSimple(Node node) const { return nodes[node].function.empty() || isHoisted(node); }

  void count(Node node) {
    if (uses[node]++ == 0 && !isSimple(node))
      for (Node operand : nodes[node].operands)
        count(operand);
  }

  /// Defines what `node` needs and several values use, in an order in which each definition precedes its uses.
  void define(Node node, std::vector<std::string> &lines) {
    if (isSimple(node) || names.count(node))
      return;
    for (Node operand : nodes[node].operands)
      define(operand, lines);
    if (uses[node] < 2)
      return;
    std::string name = "%" + std::to_string(lines.size());
    lines.push_back(name + " = " + term(node));
    names[node] = name;
  }

  std::string term(Node node) {
    if (auto name = names.find(node); name != names.end())
      return name->second;
    if (isHoisted(node)) {
      auto found = std::find(perStep->begin(), perStep->end(), node);
      if (found == perStep->end())
        found = perStep->insert(found, node);
      return "$" + std::to_string(found - perStep->begin());
    }
    const Item &item = nodes[node];
    if (item.function.empty())
      return item.text;
    std::string text = item.function + "(";
    for (size_t i = 0; i < item.operands.size(); ++i)
      text += (i ? ", " : "") + term(item.operands[i]);
    return text + ")";
  }

  const std::vector<Item> &nodes;
  std::vector<Node> *perStep;
  std::vector<size_t> uses;
  std::map<Node, std::string> names;
};

Formulas OptimizerFormulas::writeElement(const std::vector<Node> &results, std::vector<Node> &perStep) const {
  return Writer(*this, &perStep).write(results);
}

Formulas OptimizerFormulas::writeStep(const std::vector<Node> &results) const { return Writer(*this, nullptr).write(results); }

} // namespace npar::dsl
