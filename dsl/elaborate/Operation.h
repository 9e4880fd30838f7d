// The operations of the language: each a name, its arguments and a function that checks types and adds nodes of the nn dialect.
#pragma once

#include "dsl/Nodes.h"
#include "dsl/elaborate/ModelElaborator.h"

namespace npar::dsl {

/// The kind of an argument. Tensor: a tensor with elements of any type. Any: the operation checks the argument itself.
enum class FormalKind { Floats, Indices, Tensor, Tensors, Axis, Axes, Number, Truth, Word, Any };

/// A formal argument of an operation, with its default if it is optional. (An optional Axis or Any has no default; the operation decides
/// what omitting it means.)
struct OperationFormal {
  OperationFormal(std::string name, FormalKind kind, bool optional = false) : name(std::move(name)), kind(kind), optional(optional) {}
  /// An optional number or truth value with its default.
  OperationFormal(std::string name, FormalKind kind, double fallback)
      : name(std::move(name)), kind(kind), optional(true), fallback(fallback) {}
  /// One of some words, of which the first is the default.
  OperationFormal(std::string name, std::vector<std::string> words)
      : name(std::move(name)), kind(FormalKind::Word), optional(true), words(std::move(words)) {}

  std::string name;
  FormalKind kind;
  bool optional = false;
  double fallback = 0;
  std::vector<std::string> words = {};
};

struct Operation;

/// One call with its arguments matched. Accessors read an argument as the table of operations says, report another kind at the argument and
/// throw Stop; `i` counts the formals from 0.
class OperationCall {
public:
  OperationCall(ModelElaborator &elaborator, const Operation &operation, Location at, std::vector<const ast::Argument *> slots,
                Scope &scope);

  /// Returns whether the argument is given; an optional argument with the value `none` is not.
  bool has(size_t i) const { return slots[i] != nullptr; }
  /// Returns whether the argument is given by name.
  bool isNamed(size_t i) const { return has(i) && !slots[i]->name.text.empty(); }
  /// Returns whether the argument has the form of axes: a name or a list.
  bool namesAxes(size_t i) const {
    return slots[i]->value->kind == ast::ExpressionKind::Name || slots[i]->value->kind == ast::ExpressionKind::List;
  }
  Location place(size_t i) const { return slots[i] ? slots[i]->value->location : at; }
  Value value(size_t i);
  const ast::Expression &expression(size_t i) const { return *slots[i]->value; }
  /// The node of a tensor, of floats or of integers.
  int tensor(size_t i);
  /// A list `[x, y]` of float tensors.
  std::vector<int> list(size_t i);
  /// One element of a list of tensors of any elements.
  int element(size_t i, const ast::Expression &item);
  /// One axis; a list of axes.
  std::string axis(size_t i);
  AxisNames axes(size_t i);
  double number(size_t i);
  bool truth(size_t i);
  std::string word(size_t i);

  const AxisNames &axesOf(int node) const { return graph.type(node).axes; }
  /// The name of an axis in the calling text.
  std::string nameOf(const std::string &axis) const;
  /// Checks that `axis` (argument i) is an axis of the tensor other than `batch`, whose size the plan decides.
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
  /// "argument 'x' of 'sum'"
  std::string described(size_t i) const;
  /// Returns whether an expression is the word `none` or a constant with that value.
  bool isNone(const ast::Expression &value) const;

  const std::vector<OperationFormal> &formals;
  std::vector<const ast::Argument *> slots;
  Scope &scope;
};

/// An operation that a text can call: its arguments, the function that computes its result, and the kinds of nodes that it adds.
struct Operation {
  std::string name;
  std::vector<OperationFormal> formals;
  Value (*run)(OperationCall &);
  std::vector<NodeKind> makes;
};

/// The operation of that name, or null.
const Operation *findOperation(const std::string &name);
const std::vector<Operation> &operations();

// The families, one file each.
std::vector<Operation> alongOperations();
std::vector<Operation> attentionOperations();
std::vector<Operation> batchNormOperations();
std::vector<Operation> elementwiseOperations();
std::vector<Operation> expertOperations();
std::vector<Operation> groupNormOperations();
std::vector<Operation> integerOperations();
std::vector<Operation> queueOperations();
std::vector<Operation> reductionOperations();
std::vector<Operation> contractionOperations();
std::vector<Operation> windowOperations();

/// Node kinds of arithmetic, for `left op right` and for operations that add the same nodes.
namespace node {
extern const NodeKind add, sub, mul, div, scale, shift, fill, integer, compare, toFloat, stopGradient, reorder, queue, total, groupTotal;
}
/// `left op right` of tensors, numbers and truth values.
Value tensorArithmetic(Graph &graph, Reporter &reporter, ast::Operator op, Location at, const Value &left, const Value &right);
/// `not node`
Value tensorNegation(Graph &graph, Reporter &reporter, Location at, int node);
/// "a float tensor over [seq]", "i32 over [batch, seq]"
std::string describedTensor(const Graph &graph, int node);
/// The axes of elementwise results: all axes of the operands, in the order of the operand that has all of them. If none has, the first
/// operand's axes come first and then those that the others add, with operands that have `batch` before the rest.
AxisNames unionOf(const Graph &graph, std::vector<int> nodes);
/// Checks that a number can be combined with a tensor: 32-bit integers with integers, numbers in the range of float32 with floats.
void wholeFor(const Graph &graph, Reporter &reporter, Location at, const std::string &what, int beside, const Value &number);
/// Refuses a number that the elements of a float or integer tensor cannot hold.
void heldBy32Bits(Reporter &reporter, Location at, const std::string &what, const Value &number, bool floats);
/// A tensor's node, or a new one for a number.
int nodeOf(Graph &graph, Location at, const Value &value, bool floats);

/// Reads argument i, what a norm adds to the variance.
double epsilonOf(OperationCall &call, size_t i);
/// Checks that argument i is a valid rate of dropout.
void checkDropoutRate(OperationCall &call, size_t i, double rate);

/// Another name of an axis, which no rule splits and no axis of a text can have; the operand under that name, where it is whole.
std::string wholeName(const std::string &axis);
int wholeAlong(Graph &graph, Location at, int x, const std::string &axis);
/// Two axes in the place of one, or one in the place of two that are made neighbours.
int folded(Graph &graph, Location at, int x, std::string flat, std::string major, std::string minor, bool cuts);

/// The number of consecutive samples that argument i asks for: a number, or `batch` for all of a step. A smaller group than that must fit
/// into one micro-batch.
int64_t samplesOf(OperationCall &call, size_t i);
/// Adds the sum of x over each group of samples. A sample has the sum of its group.
int overSamples(Graph &graph, Location at, int x, int64_t samples);

/// The axes of a choice of entries of `expert`: positions, and the choices of a position.
struct RoutedAxes {
  std::string seq, slot, expert;
};
/// Reads and checks the arguments with these numbers.
RoutedAxes routedAxes(OperationCall &call, size_t choice, size_t along, size_t to);
/// For each choice along an axis the number of equal ones before it; with `sorted`, lower ones count, too, wherever they are. `looksAhead`:
/// the order along the axis is not that of positions.
int queued(Graph &graph, Location at, int choice, const std::string &axis, int64_t entries, bool sorted, bool looksAhead = false);
/// x; if it is over the entries that `rows` belong to, the entry of each row.
int entriesOfRows(Graph &graph, Location at, int x, int rows);
/// The product of rows with the matrices of their entries; none if `rows` are not sent to entries of an axis of `weights`.
std::optional<TensorValue> groupedProduct(OperationCall &call, int rows, int weights, const AxisNames &over);

/// The part of a sum of axes that begins at entry `offset` of x along it; a product part has its factors side by side.
int partOf(Graph &graph, Location at, int x, const std::string &from, const std::string &part, int64_t offset);

/// Tells whether both lists have the same axes, in any order.
bool sameAxes(const AxisNames &a, const AxisNames &b);
/// x with its axes in that order.
int ordered(Graph &graph, Location at, int x, const AxisNames &axes);

AxisNames without(AxisNames axes, const AxisNames &removed);

} // namespace npar::dsl
