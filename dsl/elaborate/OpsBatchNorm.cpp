// Batch normalization: statistics of groups of consecutive samples, and running statistics, which are states of the model.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"
#include "dsl/elaborate/Unrounded.h"

#include <cmath>
#include <set>

namespace npar::dsl {
namespace {

using ast::Operator;

/// Places of the arguments in a call.
struct Argument {
  enum : size_t { X, Weight, Bias, Mean, Variance, Count, Over, Samples, Momentum, Epsilon, Statistics };
};

/// Formulas of nodes and numbers at one place of the text.
class Formula {
public:
  explicit Formula(OperationCall &call) : call(call), graph(call.graph) {}

  Value add(const Value &a, const Value &b) const { return both(Operator::Add, a, b); }
  Value sub(const Value &a, const Value &b) const { return both(Operator::Subtract, a, b); }
  Value mul(const Value &a, const Value &b) const { return both(Operator::Multiply, a, b); }
  Value div(const Value &a, const Value &b) const { return both(Operator::Divide, a, b); }
  Value less(const Value &a, const Value &b) const { return both(Operator::Less, a, b); }
  Value equal(const Value &a, const Value &b) const { return both(Operator::Equal, a, b); }
  Value mod(const Value &a, const Value &b) const { return both(Operator::Modulo, a, b); }
  Value all(const Value &a, const Value &b) const { return both(Operator::And, a, b); }
  Value where(const Value &condition, const Value &x, const Value &y) const {
    std::vector<int> operands{node(condition), node(x), node(y)};
    AxisNames axes = unionOf(graph, operands);
    return made("where", std::move(operands), graph.floating(std::move(axes)));
  }
  Value function(const char *op, const Value &x) const { return made(op, {node(x)}, graph.floating(axesOf(x))); }
  Value floats(const Value &x) const { return function("to_float", x); }
  /// A constant for the gradient. The result does not depend on it beyond rounding.
  Value shifting(const Value &x) const {
    return TensorValue{graph.add(call.at, "stop_gradient", {node(x)}, graph.floating(axesOf(x)), {{"neutral", true}})};
  }
  Value sum(const Value &x, const AxisNames &over) const { // of axes that x has
    AxisNames axes = without(axesOf(x), over);
    return over.empty() ? x : made("sum", {node(x)}, graph.floating(std::move(axes)));
  }
  /// Two tensors over the same axes as one, and either of them again.
  Value pair(const Value &first, const Value &second) const {
    graph.declareAxis(pairAxis, 2, call.at);
    AxisNames axes = axesOf(first);
    const int other = ordered(graph, call.at, node(second), axes);
    axes.push_back(pairAxis);
    return TensorValue{graph.add(call.at, "stack", {node(first), other}, graph.floating(std::move(axes)), {{"axis", pairAxis}})};
  }
  Value entry(const Value &both, int64_t number) const {
    TensorType type = graph.floating(without(axesOf(both), {pairAxis}));
    return TensorValue{graph.add(call.at, "select", {node(both)}, std::move(type), {{"axis", pairAxis}, {"index", number}})};
  }

  int node(const Value &value) const { return nodeOf(graph, call.at, value, true); }
  AxisNames axesOf(const Value &value) const { return call.axesOf(node(value)); }

private:
  Value both(Operator op, const Value &a, const Value &b) const { return tensorArithmetic(graph, call.reporter, op, call.at, a, b); }
  Value made(const char *op, std::vector<int> operands, TensorType type) const {
    return TensorValue{graph.add(call.at, op, std::move(operands), std::move(type))};
  }

  const std::string pairAxis = "batch_norm.statistic"; // no text can write it
  OperationCall &call;
  Graph &graph;
};

class BatchNorm {
public:
  explicit BatchNorm(OperationCall &call) : call(call), graph(call.graph), formula(call) {}

  Value run() {
    readOperands();
    readMomentum();
    const bool isFrozen = graph.freezesStatistics(pathOf(mean)) || call.word(Argument::Statistics) == "frozen";
    if (!graph.trains || isFrozen) {
      graph.keptStates.insert(graph.keptStates.end(), {mean, variance, count});
      return byRunningStatistics();
    }
    const int64_t group = samplesOf(call, Argument::Samples);
    checkGroup(group);
    return byStatisticsOf(group);
  }

private:
  //===- Arguments ----------------------------------------------------------------------------------------------------------===//

  void readOperands() {
    const int operand = call.tensor(Argument::X);
    x = TensorValue{operand};
    for (const std::string &axis : call.axes(Argument::Over)) {
      if (axis != "batch")
        call.requireAxis(Argument::Over, axis, operand, "the operand");
      over.push_back(axis);
    }
    if (!contains(over, "batch") || !contains(formula.axesOf(x), "batch"))
      call.reporter.fail(Code::A12, call.place(Argument::Over),
                         "'batch_norm' normalises over samples: 'over' must have the axis 'batch', this is over " + textOf(over),
                         {"layer_norm and rms_norm normalise each sample by itself"});
    channels = without(formula.axesOf(x), over);
    weight = TensorValue{overChannels(Argument::Weight, channels)};
    bias = TensorValue{overChannels(Argument::Bias, channels)};
    mean = stateOf(Argument::Mean, channels);
    variance = stateOf(Argument::Variance, channels);
    count = stateOf(Argument::Count, {});
    graph.model.parameters[count].counts = true;
  }

  int overChannels(size_t i, const AxisNames &axes) {
    int node = call.tensor(i);
    if (!sameAxes(call.axesOf(node), axes))
      call.reporter.fail(Code::A12, call.place(i),
                         argument(i) + " must be over " + textOf(axes) + (axes.empty() ? "" : ", the axes that 'over' leaves") +
                             ", this is over " + textOf(call.axesOf(node)));
    return node;
  }

  static std::string argument(size_t i) {
    static const char *const names[] = {"x", "weight", "bias", "mean", "variance", "count"};
    return std::string("argument '") + names[i] + "' of 'batch_norm'";
  }

  size_t stateOf(size_t i, const AxisNames &axes) {
    const Node &node = graph.model.nodes[static_cast<size_t>(overChannels(i, axes))];
    const std::vector<Parameter> &all = graph.model.parameters;
    auto found = std::find_if(all.begin(), all.end(), [&](const Parameter &p) {
      return node.op == "parameter" && p.untrained && p.path == std::get<std::string>(node.attributes.at("name"));
    });
    if (found == all.end())
      call.reporter.fail(Code::A12, call.place(i),
                         argument(i) + " must be a state, which it updates: this is " +
                             (node.op == "parameter" ? "a parameter" : "a computed tensor"),
                         {"declare it with `state NAME: " + textOf(axes) + (i == Argument::Variance ? " = ones`" : " = zeros`")});
    const auto state = static_cast<size_t>(found - all.begin());
    if (!roles.insert(state).second)
      call.reporter.fail(Code::A12, call.place(i), argument(i) + " must be a state of its own, '" + found->path + "' is given twice");
    return state;
  }

  const std::string &pathOf(size_t state) const { return graph.model.parameters[state].path; }

  void readMomentum() {
    const Value value = call.value(Argument::Momentum);
    isCumulative = std::holds_alternative<None>(value);
    if (isCumulative)
      return;
    momentum = isNumber(value) ? toDouble(value) : 0;
    if (!(momentum > 0 && momentum <= 1))
      call.reporter.fail(Code::A12, call.place(Argument::Momentum),
                         "argument 'momentum' of 'batch_norm' must be above 0 and at most 1, or none for the mean of all groups, this is " +
                             (isNumber(value) ? textOf(value) : kindOf(value)),
                         {"it is the weight of the new statistics, as in PyTorch: 0.1 where Keras writes 0.9"});
  }

  void checkGroup(int64_t group) {
    const int64_t micro = graph.size("batch");
    if (group > micro)
      call.reporter.fail(
          Code::A12, call.place(Argument::Samples),
          "the forward pass needs the statistics of " + std::to_string(group) + " samples, and a micro-batch has " + std::to_string(micro) +
              " of them on all ranks together",
          {"make 'micro' " + std::to_string(group / micro) + " times as large, or write samples = " + std::to_string(micro)});
    positions = 1;
    for (const std::string &axis : without(over, {"batch"}))
      positions *= graph.size(axis);
    if (group * positions < 2)
      call.reporter.fail(Code::A12, call.place(Argument::Samples),
                         "a group of 1 sample with 1 position has 1 value per channel, whose variance says nothing",
                         {"make 'samples' at least 2"});
    const double least = 1e-30; // of the weights of a step, which are float32
    if (graph.mayFill && !isCumulative && group < graph.batch &&
        std::pow(1 - momentum, static_cast<double>(graph.batch / group - 1)) < least)
      call.reporter.fail(
          Code::A12, call.place(Argument::Momentum),
          "with momentum " + textOf(momentum) + " the first of " + std::to_string(graph.batch / group) +
              " groups of a step has no weight that float32 can hold, and it may be the only one of a batch that is filled up",
          {"make the momentum smaller, or the groups larger"});
  }

  //===- Normalising --------------------------------------------------------------------------------------------------------===//

  /// weight / sqrt(variance + epsilon)
  Value scaleBy(const Value &spread) {
    return formula.div(weight, formula.function("sqrt", formula.add(spread, epsilonOf(call, Argument::Epsilon))));
  }

  Value inOrder(const Value &y) { return TensorValue{ordered(graph, call.at, formula.node(y), formula.axesOf(x))}; }

  Value byRunningStatistics() {
    std::optional<Unrounded> wide(graph);
    Value y = formula.mul(formula.sub(x, used(mean)), scaleBy(used(variance)));
    wide.reset();
    return inOrder(formula.add(y, bias));
  }

  Value used(size_t state) { return TensorValue{graph.use(state, call.at)}; }

  /// The sum over the samples of a group that count, for each of them.
  Value ofGroup(const Value &each, int64_t group) {
    Value counted = each;
    if (graph.mayFill)
      counted = formula.where(counting, each, 0.0);
    return TensorValue{overSamples(graph, call.at, formula.node(counted), group)};
  }

  /// A sum divided by the number of its values; 0 for a group without samples that count.
  Value meanOf(const Value &sum) {
    return graph.mayFill ? formula.div(sum, atLeastOne(values)) : formula.mul(sum, 1 / std::get<double>(values));
  }

  Value atLeastOne(const Value &number) { return formula.where(formula.less(number, 1.0), 1.0, number); }

  /// Shifts x by about its mean before squares are taken, so that a large mean costs no digits: the difference is nearly exact. The mean of
  /// the differences is the error of the rounded mean, and enters both statistics.
  Value byStatisticsOf(int64_t group) {
    const AxisNames inside = without(over, {"batch"});
    std::optional<Unrounded> wide(graph);
    values = static_cast<double>(group * positions);
    if (graph.mayFill) {
      counting = TensorValue{graph.add(call.at, countingNode, {}, Graph::truths({"batch"}))};
      const int all = overSamples(graph, call.at, formula.node(formula.floats(counting)), group);
      values = formula.mul(TensorValue{all}, static_cast<double>(positions));
    }
    const Value shift = formula.shifting(meanOf(ofGroup(formula.sum(x, inside), group)));
    const Value difference = formula.sub(x, shift);
    const Value moments = formula.pair(formula.sum(difference, inside), formula.sum(formula.mul(difference, difference), inside));
    const Value means = meanOf(ofGroup(moments, group));
    const Value offset = formula.entry(means, 0);
    const Value spread = formula.function("relu", formula.sub(formula.entry(means, 1), formula.mul(offset, offset)));
    Value scale = scaleBy(spread);
    if (graph.mayFill) // no other statistics are theirs; what they become must be finite
      scale = formula.where(counting, scale, 0.0);
    Value y = formula.mul(difference, scale);
    const Value rest = formula.sub(bias, formula.mul(offset, scale));
    updateStates(group, formula.add(shift, offset), spread);
    wide.reset();
    return inOrder(formula.add(y, rest));
  }

  //===- Running statistics -------------------------------------------------------------------------------------------------===//

  /// Adds G updates, one after the other, for the G groups of a step: r <- (1 - m)^G r + the sum of m (1 - m)^(G - 1 - g) statistic_g.
  void updateStates(int64_t group, const Value &average, const Value &spread) {
    for (size_t state : {mean, variance, count})
      call.elaborator.checkOneUpdate(state, call.at);
    const int64_t groups = graph.batch / group;
    const Value sample = TensorValue{graph.add(call.at, "sample", {}, Graph::integers({"batch"}))};
    Value isFirst = formula.equal(formula.mod(sample, group), int64_t{0});
    Value unbiased;
    if (graph.mayFill) { // a group of one value has no variance
      unbiased = formula.mul(spread, formula.div(values, atLeastOne(formula.sub(values, 1.0))));
      isFirst = formula.all(isFirst, formula.less(1.0, values));
    } else {
      const double number = std::get<double>(values);
      unbiased = formula.mul(spread, number / (number - 1));
    }
    const Value share = formula.where(isFirst, weightIn(sample, group, groups), 0.0);
    const Value sums = formula.sum(formula.mul(formula.pair(average, unbiased), share), {"batch"});
    if (!graph.mayFill) {
      const double kept = std::pow(1 - momentum, static_cast<double>(groups));
      return renew(sums, static_cast<double>(groups), kept < smallestNumber ? 0.0 : kept, 1.0);
    }
    const Value totals = formula.sum(formula.pair(formula.where(isFirst, 1.0, 0.0), share), {"batch"});
    const Value number = formula.entry(totals, 0), shares = formula.entry(totals, 1);
    const Value isAny = formula.less(0.5, number);
    Value kept = 0.0;
    if (!isCumulative && momentum < 1)
      kept = formula.function("exp", formula.mul(number, std::log(1 - momentum)));
    else if (!isCumulative)
      kept = formula.where(isAny, 0.0, 1.0);
    // Scaled so that old and new shares add up to 1: exact unless a group between others is missing.
    const Value rest = isCumulative ? Value(1.0) : formula.div(formula.sub(1.0, kept), formula.where(isAny, shares, 1.0));
    renew(sums, number, kept, rest);
  }

  /// The weight of a sample's group in the sum of a step, up to a factor if samples may not count.
  Value weightIn(const Value &sample, int64_t group, int64_t groups) {
    if (isCumulative)
      return 1.0;
    if (groups == 1)
      return momentum;
    const Value after = formula.sub(int64_t{groups - 1}, formula.div(sample, group));
    if (momentum == 1)
      return formula.where(formula.equal(after, int64_t{0}), 1.0, 0.0);
    return formula.mul(formula.function("exp", formula.mul(formula.floats(after), std::log(1 - momentum))), momentum);
  }

  /// `kept`: the part of the old statistics that stays, unless all groups so far have one weight; `rest`: a factor of the sums.
  void renew(const Value &sums, const Value &number, const Value &kept, const Value &rest) {
    const Value before = used(count), after = formula.add(before, number);
    for (auto [state, entry] : {std::pair(mean, 0), std::pair(variance, 1)}) {
      Value sum = formula.entry(sums, entry);
      if (!std::holds_alternative<double>(rest))
        sum = formula.mul(sum, rest);
      Value next = isCumulative ? formula.div(formula.add(formula.mul(used(state), before), sum), atLeastOne(after))
                                : formula.add(formula.mul(used(state), kept), sum);
      update(state, next);
    }
    update(count, after);
  }

  void update(size_t state, const Value &next) {
    const AxisNames axes = graph.model.parameters[state].type.axes;
    graph.model.updates.push_back({state, ordered(graph, call.at, formula.node(next), axes), call.at});
  }

  OperationCall &call;
  Graph &graph;
  Formula formula;
  Value x, weight, bias;
  AxisNames over, channels;
  size_t mean = 0, variance = 0, count = 0; ///< states
  std::set<size_t> roles;                   ///< those read so far
  bool isCumulative = false;
  double momentum = 0;
  int64_t positions = 1;
  Value values;   ///< values per channel that count in a sample's group: a number, or a tensor over the samples
  Value counting; ///< whether a sample counts; only if some may not
};

Value batchNorm(OperationCall &call) { return BatchNorm(call).run(); }

} // namespace

std::vector<Operation> batchNormOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  return {{"batch_norm",
           {{"x", Formal::Floats},
            {"weight", Formal::Floats},
            {"bias", Formal::Floats},
            {"mean", Formal::Floats},
            {"variance", Formal::Floats},
            {"count", Formal::Floats},
            {"over", Formal::Axes},
            {"samples", Formal::Any},
            {"momentum", Formal::Any},
            {"epsilon", Formal::Number, 1e-5},
            {"statistics", {"batch", "frozen"}}},
           batchNorm,
           {{"sum", 1},
            {"mul", 2},
            node::add,
            node::sub,
            node::div,
            node::scale,
            node::shift,
            node::stopGradient,
            {"stack", NodeKind::anyNumber, {{"axis", Kind::Text}}},
            {"select", 1, {{"axis", Kind::Text}, {"index", Kind::Integer}}},
            {"relu", 1},
            {"sqrt", 1},
            {"exp", 1},
            {"where", 3},
            {"sample", 0},
            node::compare,
            node::integer,
            node::toFloat}}};
}

} // namespace npar::dsl
