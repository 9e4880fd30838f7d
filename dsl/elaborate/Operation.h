// The operations of the language: each a name, its arguments and a function that checks types and adds nodes of the nn dialect.
#pragma once

#include "dsl/elaborate/ModelElaborator.h"

namespace npar::dsl {

/// One call with its arguments matched. Accessors report a wrong kind at the argument and throw Stop; `i` counts the formals from 0.
class OperationCall {
public:
  OperationCall(ModelElaborator &elaborator, const std::string &name, const std::vector<Formal> &formals, Location at,
                std::vector<const ast::Argument *> slots, Scope &scope)
      : graph(elaborator.graph), reporter(elaborator.reporter), elaborator(elaborator), name(name), at(at), formals(formals),
        slots(std::move(slots)), scope(scope) {}

  bool has(size_t i) const { return slots[i] != nullptr; }
  Location place(size_t i) const { return slots[i] ? slots[i]->value->location : at; }
  Value value(size_t i);
  /// The node of an argument that is any tensor (`tensor`), one of floats (`floats`) or one of i32 (`indices`).
  int tensor(size_t i);
  int floats(size_t i);
  int indices(size_t i);
  /// A list `[x, y]` of float tensors.
  std::vector<int> list(size_t i);
  /// One axis; a list of axes.
  std::string axis(size_t i);
  AxisNames axes(size_t i);
  double number(size_t i, double fallback);
  bool truth(size_t i, bool fallback);
  std::string word(size_t i, const std::vector<std::string> &choices);

  const AxisNames &axesOf(int node) const { return graph.type(node).axes; }
  /// What the calling text calls an axis.
  std::string nameOf(const std::string &axis) const;
  /// That `axis` (argument i) is one of the tensor's, and not `batch`, whose size is the plan's.
  void requireAxis(size_t i, const std::string &axis, int node, const std::string &what);
  void refuseBatch(size_t i, const std::string &axis);
  TensorValue add(const std::string &op, std::vector<int> operands, AxisNames axes, std::map<std::string, Attribute> attributes = {}) {
    return {graph.add(at, op, std::move(operands), graph.floating(std::move(axes)), std::move(attributes))};
  }

  Graph &graph;
  Reporter &reporter;
  ModelElaborator &elaborator;
  const std::string name;
  const Location at;

private:
  const std::vector<Formal> &formals;
  std::vector<const ast::Argument *> slots;
  Scope &scope;
};

struct Operation {
  Operation(std::string name, std::vector<Formal> formals, Value (*run)(OperationCall &), std::vector<std::string> makes = {})
      : name(name), formals(std::move(formals)), run(run),
        makes(makes.empty() ? std::vector<std::string>{std::move(name)} : std::move(makes)) {}

  std::string name;
  std::vector<Formal> formals;
  Value (*run)(OperationCall &);
  std::vector<std::string> makes; ///< kinds of the nodes that it adds
};

/// The operation of that name, or null.
const Operation *findOperation(const std::string &name);
const std::vector<Operation> &operations();
/// The kinds of nodes that models are made of, by operations, arithmetic, selections and inputs: what a rule may name, `in op select`.
const std::vector<std::string> &nodeKinds();

// The families, one file each.
std::vector<Operation> elementwiseOperations();
std::vector<Operation> reductionOperations();
std::vector<Operation> contractionOperations();

/// `left op right` of tensors and numbers.
Value tensorArithmetic(Graph &graph, Reporter &reporter, ast::Operator op, Location at, const Value &left, const Value &right);

AxisNames without(AxisNames axes, const AxisNames &removed);

} // namespace npar::dsl
