// The formulas of an optimizer as a graph of values, from which the text for the compiler is written.
#pragma once

#include "dsl/Optimizer.h"

#include <map>
#include <optional>

namespace npar::dsl {

/// Values that depend only on the step are computed once per step; all others once for each element.
class OptimizerFormulas {
public:
  using Node = size_t;

  /// A value that the engine gives: the weight, the gradient, a state, `lr` or `t`.
  Node leaf(const std::string &name, bool perElement);
  Node number(double value);
  Node apply(const std::string &function, std::vector<Node> operands);

  size_t size() const { return nodes.size(); }
  bool isTruth(Node node) const;
  bool isPerElement(Node node) const { return nodes[node].perElement; }
  bool dependsOn(Node node, Node leaf) const;

  /// Writes the values of one element. Adds what they need of the step to `perStep`, whose number k they call `$k`.
  Formulas writeElement(const std::vector<Node> &results, std::vector<Node> &perStep) const;
  Formulas writeStep(const std::vector<Node> &results) const;

private:
  struct Item {
    std::string function; ///< empty: a leaf or a number
    std::string text;     ///< the name of a leaf, or a number
    std::vector<Node> operands;
    bool perElement = false, isNumber = false;
  };
  class Writer;

  Node add(Item item);

  std::vector<Item> nodes;
  std::map<std::string, Node> known; ///< nodes by the value that they compute
};

} // namespace npar::dsl
