// Imports what a training step computes after its last micro-batch: new values of the model's states, and numbers of the training log.
#pragma once

#include "compiler/import/ImportNodes.h"

namespace npar::compiler {

/// Imports updates and logged values. @micro adds up what they sum over the batch (RULES.md#N11), and the function @renew computes them
/// from these sums, in f64; autodiff-update makes it a part of @update. A model without them gets neither.
class StepValueImporter {
public:
  explicit StepValueImporter(NodeImporter &nodes);

  /// Declares accumulators and outputs.
  void declare();
  /// Adds the nodes of @micro that are summed.
  void addRoots(std::vector<int> &roots) const;
  /// Ends @micro, where values of nodes are known, with the sums.
  void accumulate();
  mlir::LogicalResult addFunction(mlir::ModuleOp module);

private:
  /// The nodes whose values are written.
  std::vector<int> roots() const;
  bool isEmpty() const { return updates.empty() && nodes.model.logged.empty(); }
  const dsl::Node &node(int number) const { return nodes.model.nodes[static_cast<size_t>(number)]; }
  int summed(int sum) const { return node(sum).operands.front(); }
  /// Tells whether a sum over the batch is the same at every step: of a constant, if every sample counts.
  bool isKnown(int sum) const;
  std::string variableOf(int sum) const { return "#sum." + std::to_string(sum); }
  mlir::RankedTensorType typeOf(int sum);

  NodeImporter &nodes;
  std::vector<dsl::StateUpdate> updates; ///< of states that are not frozen
  std::vector<int> sums;                 ///< the sums over the batch that are needed
};

} // namespace npar::compiler
