// Reductions and the operations that normalise over an axis: sum, mean, max, min, logsumexp, softmax, layer_norm, rms_norm,
// cross_entropy, and the other losses.
#include "dsl/elaborate/Operation.h"

#include <optional>

namespace npar::dsl {
namespace {

/// The axes to reduce over, each of them the tensor's.
AxisNames reduced(OperationCall &call, int x) {
  AxisNames over = call.axes(1);
  for (const std::string &axis : over)
    call.requireAxis(1, axis, x, "the operand");
  return over;
}

/// The sum, or the largest, of floats or of integers.
int reduction(OperationCall &call, const char *op, int x, AxisNames axes) {
  return call.graph.add(call.at, op, {x}, call.graph.isFloat(x) ? call.graph.floating(std::move(axes)) : Graph::integers(std::move(axes)));
}

/// The axes that a sum or mean runs over, and how many consecutive samples belong together. Without such groups `batch` among the axes
/// stands for the whole global batch.
struct Summed {
  AxisNames axes;
  int64_t samples = 0;
};

/// sum(x, over = [batch, a], samples = n)
Summed summed(OperationCall &call, int x) {
  const AxisNames over = call.axes(1);
  if (call.has(2) && !contains(over, "batch"))
    call.reporter.fail(Code::A17, call.place(2),
                       "'samples' is for a " + call.name + " over the axis 'batch', this is over " + textOf(over));
  for (const std::string &axis : over)
    if (!contains(call.axesOf(x), axis)) // `batch` is allowed
      call.requireAxis(1, axis, x, "the operand");
  return call.has(2) ? Summed{without(over, {"batch"}), samplesOf(call, 2)} : Summed{over};
}

/// The sum of x; a sum over samples is that of its group for each sample.
int total(OperationCall &call, int x, const Summed &over) {
  int sum = over.axes.empty() ? x : reduction(call, "sum", x, without(call.axesOf(x), over.axes));
  return over.samples == 0 ? sum : overSamples(call.graph, call.at, sum, over.samples);
}

void refuseTruths(OperationCall &call, int x) {
  if (call.graph.isTruth(x))
    call.reporter.fail(Code::A6, call.place(0),
                       "argument 'x' of '" + call.name + "' must be a tensor of numbers, this is " + describedTensor(call.graph, x),
                       {"write int(x), or float(x), to count"});
}

Value sum(OperationCall &call) {
  int x = call.tensor(0);
  refuseTruths(call, x);
  return TensorValue{total(call, x, summed(call, x))};
}

/// -x, so that the least is the largest; of integers -1 - x, which has no number without a partner.
int turned(OperationCall &call, int x) {
  const AxisNames axes = call.axesOf(x);
  if (call.graph.isFloat(x))
    return call.add("scale", {x}, axes, {{"factor", -1.0}}).node;
  int all = nodeOf(call.graph, call.at, int64_t{-1}, false);
  return call.graph.add(call.at, "integer", {all, x}, Graph::integers(axes), {{"kind", std::string("sub")}});
}

/// The largest or the least along axes; of two constants the larger or lesser one.
Value extreme(OperationCall &call) {
  Value x = call.value(0);
  auto *tensor = std::get_if<TensorValue>(&x);
  bool least = call.name == "min";
  if (tensor) {
    refuseTruths(call, tensor->node);
    if (!call.namesAxes(1))
      call.reporter.fail(Code::A6, call.place(1), "'" + call.name + "' of a tensor is taken over axes, this is " + kindOf(call.value(1)),
                         least ? Helps{"write min(x, over = a) for the least along axis 'a'", "the lesser of x and y is where(x < y, x, y)"}
                               : Helps{"write max(x, over = a) for the largest along axis 'a'",
                                       "the larger of x and 0 is relu(x), of x and y where(x > y, x, y)"});
    AxisNames axes = without(call.axesOf(tensor->node), reduced(call, tensor->node));
    if (!least && call.word(2) == "first") {
      if (!call.graph.isFloat(tensor->node))
        call.reporter.fail(Code::A13, call.place(2),
                           "ties = \"first\" is about the gradient, this is " + describedTensor(call.graph, tensor->node),
                           {"leave it out"});
      return call.add("max_first", {tensor->node}, axes, {{"axes", call.axes(1)}});
    }
    int found = reduction(call, "max", least ? turned(call, tensor->node) : tensor->node, axes);
    return TensorValue{least ? turned(call, found) : found};
  }
  if (!least && call.has(2))
    call.reporter.fail(Code::A13, call.place(2), "'ties' is for a max over axes of a tensor, this is one of constants");
  if (call.isNamed(1))
    call.reporter.fail(Code::A6, call.place(0), "argument 'x' of '" + call.name + "' must be a tensor, this is " + kindOf(x));
  Value constant;
  call.elaborator.callConstant(
      call.name, call.at, {call.elaborator.constant(call.place(0), x), call.elaborator.constant(call.place(1), call.value(1))}, constant);
  return constant;
}

/// log(sum(exp(x))) with the maximum taken out, where it is finite: no exponential overflows.
Value logSumExp(OperationCall &call) {
  int x = call.tensor(0);
  AxisNames axes = without(call.axesOf(x), reduced(call, x));
  auto zero = [&] { return nodeOf(call.graph, call.at, 0.0, true); };
  int largest = reduction(call, "max", x, axes), nothing = call.add("sub", {largest, largest}, axes).node;
  int finite = call.graph.add(call.at, "compare", {nothing, zero()}, Graph::truths(axes), {{"relation", std::string("equal")}});
  int chosen = call.add("where", {finite, largest, zero()}, axes).node,
      shift = call.add("stop_gradient", {chosen}, axes, {{"neutral", true}}).node;
  int small = call.add("exp", {call.add("sub", {x, shift}, call.axesOf(x)).node}, call.axesOf(x)).node;
  return call.add("add", {call.add("log", {reduction(call, "sum", small, axes)}, axes).node, shift}, axes);
}

Value mean(OperationCall &call) {
  int x = call.tensor(0);
  const Summed over = summed(call, x);
  double count = over.samples == 0 ? 1 : static_cast<double>(over.samples);
  for (const std::string &axis : without(over.axes, {"batch"}))
    count *= static_cast<double>(call.graph.size(axis));
  int sum = total(call, x, over);
  if (contains(over.axes, "batch")) { // divided by the number of samples that count
    int samples = call.add("sum", {call.add("fill", {}, {"batch"}, {{"value", 1.0}}).node}, {}).node;
    return call.add("div", {sum, call.add("scale", {samples}, {}, {{"factor", count}}).node}, call.axesOf(sum));
  }
  return call.add("scale", {sum}, call.axesOf(sum), {{"factor", 1 / count}});
}

Value softmax(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(1);
  call.requireAxis(1, over, x, "the operand");
  return call.add("softmax", {x}, call.axesOf(x), {{"axis", over}});
}

/// A parameter of a norm, which has the normalised axis alone.
int scaleOf(OperationCall &call, size_t i, const char *what, const std::string &over) {
  int node = call.tensor(i);
  if (call.axesOf(node) != AxisNames{over})
    call.reporter.fail(Code::A4, call.place(i),
                       std::string(what) + " of '" + call.name + "' must be over [" + over + "], this is over " +
                           textOf(call.axesOf(node)));
  return node;
}

Value layerNorm(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(3);
  call.requireAxis(3, over, x, "the operand");
  int weight = scaleOf(call, 1, "the weight", over), bias = scaleOf(call, 2, "the bias", over);
  return call.add("layer_norm", {x, weight, bias}, call.axesOf(x), {{"axis", over}, {"epsilon", epsilonOf(call, 4)}});
}

Value rmsNorm(OperationCall &call) {
  int x = call.tensor(0);
  std::string over = call.axis(2);
  call.requireAxis(2, over, x, "the operand");
  int weight = scaleOf(call, 1, "the weight", over);
  return call.add("rms_norm", {x, weight}, call.axesOf(x), {{"axis", over}, {"epsilon", epsilonOf(call, 3)}});
}

/// The value of targets that do not count; nothing where the argument is left out or `none`.
std::optional<int64_t> ignored(OperationCall &call, size_t i, int targets) {
  if (!call.has(i))
    return std::nullopt;
  Value value = call.value(i);
  if (std::holds_alternative<None>(value))
    return std::nullopt;
  auto *number = std::get_if<int64_t>(&value);
  if (!number || *number < INT32_MIN || *number > INT32_MAX)
    call.reporter.fail(Code::A13, call.place(i),
                       "argument 'ignore' of 'cross_entropy' must be an integer of 32 bits or none, this is " +
                           (isNumber(value) ? textOf(value) : kindOf(value)));
  if (call.graph.model.nodes[static_cast<size_t>(targets)].op != "input")
    call.reporter.fail(Code::A16, call.place(1),
                       "targets of which some are ignored must be an input of the model: they are counted before the step");
  const program::ElementRow &row = rowOf(call.graph.type(targets).element);
  if (static_cast<double>(*number) < row.least || static_cast<double>(*number) > row.largest)
    call.reporter.fail(Code::A13, call.place(i),
                       std::string("targets of ") + row.word + " cannot have the value " + textOf(value) + " to ignore: " + row.word +
                           " holds " + std::to_string(static_cast<int64_t>(row.least)) + " to " +
                           std::to_string(static_cast<int64_t>(row.largest)),
                       {"ignore one of these, or make the targets i32"});
  return *number;
}

Value crossEntropy(OperationCall &call) {
  int logits = call.tensor(0), targets = call.tensor(1);
  std::string over = call.axis(2);
  call.requireAxis(2, over, logits, "the operand 'logits'");
  AxisNames rest = without(call.axesOf(logits), {over});
  if (!sameAxes(call.axesOf(targets), rest))
    call.reporter.fail(Code::A4, call.place(1),
                       "the targets must be over " + textOf(rest) + ", the logits' axes but '" + over + "'; these are over " +
                           textOf(call.axesOf(targets)));
  std::map<std::string, Attribute> attributes{{"axis", over}};
  if (std::optional<int64_t> ignore = ignored(call, 3, targets))
    attributes["ignore"] = *ignore;
  double smoothing = call.number(4), zLoss = call.number(5);
  if (!(smoothing >= 0 && smoothing < 1))
    call.reporter.fail(Code::A13, call.place(4),
                       "argument 'smoothing' of 'cross_entropy' must be at least 0 and below 1, this is " + textOf(smoothing));
  if (!(zLoss >= 0 && zLoss <= largestNumber))
    call.reporter.fail(Code::A13, call.place(5), "argument 'z_loss' of 'cross_entropy' must not be negative, this is " + textOf(zLoss));
  if (smoothing > 0)
    attributes["smoothing"] = smoothing;
  if (zLoss > 0)
    attributes["z_loss"] = zLoss;
  return call.add("cross_entropy", {logits, targets}, rest, std::move(attributes));
}

/// The square of the difference. A forgotten axis would be broadcast, and each of its entries compared with the same number.
Value squaredError(OperationCall &call) {
  int x = call.tensor(0), y = call.tensor(1);
  const AxisNames axes = call.axesOf(x), others = call.axesOf(y);
  if (!sameAxes(axes, others))
    call.reporter.fail(Code::A4, call.place(1),
                       "'squared_error' compares values over the same axes: " + textOf(axes) + " and " + textOf(others),
                       {"reduce what has more of them, or, if each entry is compared with the same number, write (x - y) * (x - y)"});
  int difference = call.add("sub", {x, y}, axes).node;
  return call.add("mul", {difference, difference}, call.axesOf(difference));
}

/// log(1 + exp(x)) - x y: with m = max(x, 0) log(exp(-m) + exp(x - m)) + m - x y, in which nothing overflows, and whose slope is the
/// sigmoid - y everywhere, also at 0.
Value binaryCrossEntropy(OperationCall &call) {
  int x = call.tensor(0), y = call.tensor(1);
  const AxisNames axes = call.axesOf(x);
  if (!sameAxes(call.axesOf(y), axes))
    call.reporter.fail(Code::A4, call.place(1),
                       "the targets must be over " + textOf(axes) + ", the logits' axes; these are over " + textOf(call.axesOf(y)));
  if (!call.graph.isFloat(y))
    y = call.add("to_float", {y}, call.axesOf(y), {{"below", int64_t{2}}}).node;
  auto make = [&](const char *op, std::vector<int> operands, std::map<std::string, Attribute> attributes = {}) {
    return call.add(op, std::move(operands), axes, std::move(attributes)).node;
  };
  int most = make("stop_gradient", {make("relu", {x})}, {{"neutral", true}});
  int sum = make("add", {make("exp", {make("scale", {most}, {{"factor", -1.0}})}), make("exp", {make("sub", {x, most})})});
  return TensorValue{make("sub", {make("add", {make("log", {sum}), most}), make("mul", {x, y})})};
}

} // namespace

double epsilonOf(OperationCall &call, size_t i) {
  double epsilon = call.number(i);
  if (!(epsilon >= smallestNumber))
    call.reporter.fail(Code::A13, call.place(i), "epsilon must be at least " + textOf(smallestNumber) + ", this is " + textOf(epsilon));
  return epsilon;
}

std::vector<Operation> reductionOperations() {
  using Formal = FormalKind;
  using Kind = AttributeKind;
  const OperationFormal x{"x", Formal::Floats}, weight{"weight", Formal::Floats}, over{"over", Formal::Axis}, all{"over", Formal::Axes},
      samples{"samples", Formal::Any, true}, epsilon{"epsilon", Formal::Number, 1e-5};
  const NodeKind summed{"sum", 1}, largest{"max", 1};
  const NodeAttribute axis{"axis", Kind::Text};
  return {
      {"sum", {{"x", Formal::Tensor}, all, samples}, sum, {summed}},
      {"max",
       {{"x", Formal::Any}, {"over", Formal::Any}, {"ties", std::vector<std::string>{"share", "first"}}},
       extreme,
       {largest, {"max_first", 1, {{"axes", Kind::Texts}}}}},
      {"min", {{"x", Formal::Any}, {"over", Formal::Any}}, extreme, {largest, node::scale, node::integer}},
      {"logsumexp", {x, all}, logSumExp, {largest, summed, node::compare, {"where", 3}, node::stopGradient, {"exp", 1}, {"log", 1}}},
      {"mean", {x, all, samples}, mean, {summed, node::scale}},
      {"softmax", {x, over}, softmax, {{"softmax", 1, {axis}}}},
      {"layer_norm",
       {x, weight, {"bias", Formal::Floats}, over, epsilon},
       layerNorm,
       {{"layer_norm", 3, {axis, {"epsilon", Kind::Number}}, "norm"}}},
      {"rms_norm", {x, weight, over, epsilon}, rmsNorm, {{"rms_norm", 2, {axis, {"epsilon", Kind::Number}}, "norm"}}},
      {"cross_entropy",
       {{"logits", Formal::Floats},
        {"targets", Formal::Indices},
        over,
        {"ignore", Formal::Any, true},
        {"smoothing", Formal::Number, 0.0},
        {"z_loss", Formal::Number, 0.0}},
       crossEntropy,
       {{"cross_entropy",
         2,
         {axis, {"ignore", Kind::Integer, true}, {"smoothing", Kind::Number, true}, {"z_loss", Kind::Number, true}},
         "loss"}}},
      {"squared_error", {x, {"y", Formal::Floats}}, squaredError, {node::sub, {"mul", 2}}},
      {"binary_cross_entropy",
       {{"logits", Formal::Floats}, {"targets", Formal::Tensor}},
       binaryCrossEntropy,
       {{"relu", 1}, node::stopGradient, node::scale, {"exp", 1}, node::add, {"log", 1}, node::sub, node::mul, node::toFloat}},
  };
}

} // namespace npar::dsl
