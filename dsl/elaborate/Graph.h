// Builds dsl::Model: axes with one size each, parameters, nodes whose types are checked as they are added.
#pragma once

#include "dsl/Program.h"
#include "dsl/constants/Reporter.h"

#include <functional>
#include <optional>
#include <unordered_map>

namespace npar::dsl {

using AxisNames = std::vector<std::string>;

/// Characters of a path with an axis in braces: others are held against it at each of their numbers.
constexpr size_t longestIndexed = 200;

/// An axis `seq = cls + patch` in which others follow each other. A part is an axis, or a product of axes by its name.
struct SumAxis {
  AxisNames parts;
};

/// How `dispatch` has sent rows. Each choice of a position is a row. The rows of a sample are sorted by the entries of `expert` that they
/// are sent to, so each row has an entry of its own. Nodes are given by their numbers.
struct Routing {
  int choice; ///< the entry of each choice, over samples, `seq` and `slot`
  std::string slot, expert, seq = {}, row = {};
  int source = -1;           ///< of each row: the number of its choice, counted over positions and choices; -1: no row
  int place = -1;            ///< of each position: its rows in ascending order; -1: none
  int flatPlace = -1;        ///< the row of each choice, over the numbers of choices
  int first = -1, last = -1; ///< of each entry: its first row, and the one after its last
  int owner = -1;            ///< of each row: its entry
  bool distinct = false;     ///< the choices of a position are known to be different entries, or none
};

class Graph {
public:
  /// `batch`: the samples of a step, of which a node has those of a micro-batch.
  Graph(Model &model, Reporter &reporter, ElementType compute, int64_t batch, bool trains)
      : model(model), reporter(reporter), compute(compute), batch(batch), trains(trains) {}

  /// Declares an axis; again with the same size is fine, with another one an error. `countsSamples`: its size is that of a micro-batch, or
  /// a part of it.
  void declareAxis(const std::string &name, int64_t size, Location at, bool countsSamples = false);
  bool countsSamples(const std::string &axis) const { return model.axes[axisIndex.at(axis)].countsSamples; }
  /// Declares a name for several axes; again with the same ones is fine.
  void declareProduct(const std::string &name, const AxisNames &factors, Location at);
  /// Declares an axis as the concatenation of others. If texts disagree about the parts, the first declaration holds.
  void declareSum(const std::string &name, AxisNames parts) { sums.insert({name, {std::move(parts)}}); }
  /// The parts of a sum of axes; null if the axis is no sum.
  const SumAxis *sum(const std::string &name) const {
    auto found = sums.find(name);
    return found == sums.end() ? nullptr : &found->second;
  }
  bool hasAxis(const std::string &name) const { return axisIndex.count(name) != 0; }
  int64_t size(const std::string &name) const { return model.axes[axisIndex.at(name)].size; }
  /// The axes of a part of a sum: itself, or the factors of a product.
  AxisNames factorsOf(const std::string &part) const { return hasAxis(part) ? AxisNames{part} : product(part).factors; }
  int64_t sizeOfPart(const std::string &part) const;
  AxisNames axisNames() const;

  /// Adds a node at the current place and checks its type (no axis twice, bytes within 64 bits).
  /// `products`: the product axes that its type is written with, besides those of the operands.
  int add(Location at, std::string op, std::vector<int> operands, TensorType type, std::map<std::string, Attribute> attributes = {},
          const AxisNames &products = {});
  const TensorType &type(int node) const { return model.nodes[static_cast<size_t>(node)].type; }
  bool isFloat(int node) const { return !isInteger(type(node).element); }
  bool isTruth(int node) const { return type(node).truth; }
  /// "i32", "u8" or "bool", for a tensor of other elements than floats.
  std::string integerName(int node) const { return isTruth(node) ? "bool" : program::rowOf(type(node).element).word; }
  /// The product axes whose factors are all adjacent among the tensor's axes, according to its declaration or to those of the tensors that
  /// it is computed from.
  const AxisNames &productsOf(int node) const { return products[static_cast<size_t>(node)]; }
  const ProductAxis &product(const std::string &name) const;
  TensorType floating(AxisNames axes) const { return {compute, std::move(axes)}; }
  static TensorType integers(AxisNames axes) { return {ElementType::I32, std::move(axes)}; }
  static TensorType truths(AxisNames axes) { return {ElementType::I32, std::move(axes), true}; }

  /// The routing by these choices: the one that they have, or the one that `make` declares.
  size_t routingOf(int choice, const std::string &slot, const std::string &expert, const std::function<size_t(Routing)> &make);
  size_t declareRouting(Routing routing);
  const Routing &routing(size_t number) const { return routings[number]; }
  /// The routing of a node's rows; none if it has no axis of rows.
  std::optional<size_t> routingOfRows(int node) const { return rowRoutings[static_cast<size_t>(node)]; }
  /// Tells whether a value is known only after the last micro-batch: it is computed from a sum over the batch.
  bool isLate(int node) const { return late[static_cast<size_t>(node)]; }
  /// Declares that a node has rows of that routing. Nodes that are computed from it have them too.
  void assignRouting(int node, size_t number) { rowRoutings[static_cast<size_t>(node)] = number; }

  /// Declares a parameter; a use of it is a node made by `use`.
  size_t declareParameter(Parameter parameter, AxisNames products);
  int use(size_t parameter, Location at);

  /// Keeps the nodes that losses, metrics and predictions need, in order. Drops other nodes. Also drops parameters that no loss needs, with
  /// a warning, except below the layers in `unusedLayers`, which were already reported, and parameters for which `isKept` holds.
  void finish(const std::vector<std::string> &unusedLayers, const std::function<bool(const std::string &)> &isKept);

  Model &model;
  Reporter &reporter;
  ElementType compute;
  const int64_t batch;
  const bool trains;
  std::string path; ///< path of the layer whose text is evaluated
  int block = -1;
  /// Nodes that are added keep float32 under a type of 16 bits.
  bool unrounded = false;
  /// Some samples may not count, because they fill up a batch; false only if no loss can ignore targets.
  bool mayFill = true;
  /// Tells whether a rule of the train block freezes the statistics of a `batch_norm` whose running mean has this path; asked for each.
  std::function<bool(const std::string &)> freezesStatistics = [](const std::string &) { return false; };
  /// States that stay in the model, although nothing reads or updates them.
  std::vector<size_t> keptStates;

  void checkType(Location at, const TensorType &type);

private:
  /// Pointers to the node numbers of all results: everything else is computed for them.
  std::vector<int *> roots();
  /// Parameters that a loss needs, and states that anything needs or that are updated.
  std::vector<bool> usedParameters(const std::vector<int> &place, const std::vector<bool> &trained) const;
  /// Checks that the nodes that are needed (`place` 0) use no parameters except the `used` ones, which a loss needs.
  void checkTrained(const std::vector<int> &place, const std::vector<bool> &used) const;
  /// The routing of the rows that operands bring into a result; refuses rows that cannot meet.
  std::optional<size_t> commonRouting(Location at, const std::vector<int> &operands, const TensorType &type);
  /// Notes whether the node that is being added is late; refuses one that mixes late values with those of samples.
  void addLateness(Location at, const std::string &op, const std::vector<int> &operands, const TensorType &type);
  /// Returns whether the factors of a product are adjacent in `axes`.
  bool isWritten(const std::string &product, const AxisNames &axes) const;

  std::unordered_map<std::string, size_t> axisIndex;
  std::unordered_map<std::string, SumAxis> sums;
  std::unordered_map<std::string, size_t> parameterIndex;
  std::vector<AxisNames> products, parameterProducts; ///< by node, by parameter
  std::vector<Routing> routings;
  std::vector<std::optional<size_t>> rowRoutings; ///< by node
  std::vector<bool> late;                         ///< by node
};

/// Axes as the language writes them: "[batch, seq, embed]".
std::string textOf(const AxisNames &axes);
bool contains(const AxisNames &axes, const std::string &name);

} // namespace npar::dsl
