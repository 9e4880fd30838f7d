// Elaborates the purposes of a model: the losses that train it, and the metrics and predictions of an evaluation.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"

#include <algorithm>

namespace npar::dsl {

using ast::Statement;

namespace {

/// Adds to `needed` the nodes that those in it are computed from.
void addSources(const Model &model, std::vector<bool> &needed) {
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (int operand : model.nodes[i].operands)
        needed[static_cast<size_t>(operand)] = true;
}

} // namespace

void ModelElaborator::checkMeasure(const ast::Name &name, const std::string &what) {
  auto compare = [&](const std::string &other, const std::string &kind, const Location &at) {
    if (other != name.text || other.empty())
      return;
    if (kind == what)
      reporter.error(Code::L6, name.location, what + " '" + name.text + "' is declared twice", at, "first declared here");
    else
      reporter.error(Code::L6, name.location, what + " '" + name.text + "' has the name of a " + kind, at, "declared here",
                     {"an evaluation tells losses and metrics by their names"});
    throw Stop{};
  };
  for (const Loss &other : graph.model.losses)
    compare(other.name, "loss", other.location);
  for (const Metric &other : graph.model.metrics)
    compare(other.name, "metric", other.location);
  if (name.text == "samples")
    reporter.fail(Code::L6, name.location, what + " 'samples' needs another name: an evaluation tells by it how many samples there were");
}

void ModelElaborator::loss(const Statement &s, Scope &scope) {
  Model &model = graph.model;
  Loss loss{s.name.text, tensor(*s.value, scope, "the loss"), -1, weightOf(s, scope), s.location};
  if (!model.losses.empty() && (loss.name.empty() || model.losses[0].name.empty())) {
    reporter.error(Code::A16, s.location, "model '" + model.name + "' has a second loss, and one of them has no name",
                   model.losses[0].location, "the first one", {"name each of them: `loss NAME = ...`"});
    throw Stop{};
  }
  checkMeasure(s.name, "loss");
  const TensorType type = graph.type(loss.node);
  if (!graph.isFloat(loss.node))
    reporter.fail(Code::A16, s.value->location, "the loss must be a float tensor, this is " + graph.integerName(loss.node));
  if (!contains(type.axes, "batch")) {
    Helps helps = {"its mean over all axes is taken for the whole batch"};
    if (graph.isLate(loss.node))
      helps.push_back("in a loss, `sum` and `mean` over 'batch' need `samples = n`: each sample has the value of its group");
    reporter.fail(Code::A16, s.value->location, "the loss must keep the axis 'batch', this is over " + textOf(type.axes), helps);
  }
  loss.condition = condition(s, type.axes, scope);
  if (loss.condition >= 0) {
    checkKnown(*s.condition, loss.condition);
    loss.condition = andValid(loss.condition, loss.node, s.condition->location);
  }
  model.losses.push_back(std::move(loss));
}

int ModelElaborator::andValid(int condition, int loss, Location at) {
  const Node node = graph.model.nodes[static_cast<size_t>(loss)];
  auto ignore = node.attributes.find("ignore");
  if (ignore == node.attributes.end())
    return condition;
  auto join = [&](ast::Operator op, const Value &left, const Value &right) {
    return std::get<TensorValue>(tensorArithmetic(graph, reporter, op, at, left, right));
  };
  TensorValue valid = join(ast::Operator::NotEqual, TensorValue{node.operands[1]}, std::get<int64_t>(ignore->second));
  return join(ast::Operator::And, TensorValue{condition}, valid).node;
}

double ModelElaborator::weightOf(const Statement &s, Scope &scope) {
  if (!s.weight)
    return 1;
  return number(*s.weight, scope, "the weight of a loss");
}

int ModelElaborator::condition(const Statement &s, const AxisNames &axes, Scope &scope) {
  if (!s.condition)
    return -1;
  int node = tensor(*s.condition, scope, "the condition after 'where'");
  if (!graph.isTruth(node))
    reporter.fail(Code::A16, s.condition->location,
                  "the condition after 'where' must be true or false, this is " + describedTensor(graph, node),
                  {"compare it, as in `where labels != -1`"});
  for (const std::string &axis : graph.type(node).axes)
    if (!contains(axes, axis))
      reporter.fail(Code::A16, s.condition->location,
                    "the condition has the axes " + textOf(graph.type(node).axes) + ", but the values that it selects have " +
                        textOf(axes));
  return node;
}

void ModelElaborator::checkKnown(const ast::Expression &condition, int root) {
  std::vector<bool> needed(static_cast<size_t>(root) + 1);
  needed.back() = true;
  addSources(graph.model, needed);
  for (size_t i = 0; i < needed.size(); ++i)
    if (const Node &node = graph.model.nodes[i]; needed[i] && node.op == "parameter")
      reporter.fail(Code::A16, condition.location,
                    "the condition of a loss can use only inputs and positions, this one needs parameter '" +
                        std::get<std::string>(node.attributes.at("name")) + "'",
                    {"positions are counted before the first forward pass; where(c, x, 0.0) in the loss itself can depend on anything"});
  for (size_t i = 0; i < needed.size(); ++i)
    if (const Node &node = graph.model.nodes[i]; needed[i] && graph.isFloat(static_cast<int>(i)) && node.op != "input" && node.op != "fill")
      reporter.fail(Code::A16, condition.location,
                    "the condition of a loss computes with floats ('" + node.op + "'), which round as the plan says",
                    {"compare inputs of floats as they are, and compute with integers"});
}

namespace {

/// Targets of binary cross-entropy must be 0 or 1. The bound is dropped if a condition of a loss, or a `where` on the way to one, depends
/// on the targets: it may leave out other values.
void freeChosenTargets(Model &model) {
  std::vector<bool> trained(model.nodes.size()), conditions(model.nodes.size());
  for (const Loss &loss : model.losses) {
    trained[static_cast<size_t>(loss.node)] = true;
    if (loss.condition >= 0)
      conditions[static_cast<size_t>(loss.condition)] = true;
  }
  addSources(model, trained);
  for (size_t i = 0; i < trained.size(); ++i)
    if (trained[i] && model.nodes[i].op == "where")
      conditions[static_cast<size_t>(model.nodes[i].operands[0])] = true;
  addSources(model, conditions);
  for (Node &node : model.nodes)
    if (node.attributes.count("below") != 0 && conditions[static_cast<size_t>(node.operands[0])])
      node.attributes.erase("below");
}

} // namespace

void ModelElaborator::checkLosses() {
  const std::vector<Loss> &losses = graph.model.losses;
  freeChosenTargets(graph.model);
  for (size_t i = 0; i < graph.model.nodes.size(); ++i)
    if (const Node &node = graph.model.nodes[i]; node.attributes.count("ignore") != 0)
      if (std::none_of(losses.begin(), losses.end(), [&](const Loss &loss) { return loss.node == static_cast<int>(i); }))
        reporter.error(Code::A16, node.location, "'ignore' is for the loss itself: the mean is taken over the targets that count there",
                       {"write `loss cross_entropy(..., ignore = ...)`, or `where` after the loss"});
}

namespace {

/// A metric that an evaluation can compute from values.
struct MetricForm {
  const char *name;
  MeasureKind kind;
  std::vector<Formal> formals;
};

const std::vector<MetricForm> &metricForms() {
  static const std::vector<MetricForm> all = {
      {"mean", MeasureKind::Mean, {{"x"}}},
      {"accuracy", MeasureKind::Mean, {{"predicted"}, {"actual"}}},
      {"perplexity", MeasureKind::Perplexity, {{"losses"}}},
      {"f1", MeasureKind::F1, {{"predicted"}, {"actual"}}},
      {"correlation", MeasureKind::Correlation, {{"x"}, {"y"}}},
  };
  return all;
}

} // namespace

void ModelElaborator::metric(const Statement &s, Scope &scope) {
  const ast::Expression &value = *s.value;
  bool isCall = value.kind == ast::ExpressionKind::Suffixed && value.items[0]->kind == ast::ExpressionKind::Name &&
                value.suffixes.size() == 1 && value.suffixes[0].kind == ast::SuffixKind::Call;
  const std::vector<MetricForm> &forms = metricForms();
  auto form = std::find_if(forms.begin(), forms.end(), [&](const MetricForm &each) { return isCall && each.name == value.items[0]->text; });
  if (form == forms.end())
    reporter.fail(Code::A16, value.location,
                  "a metric is mean(x), accuracy(predicted, actual), f1(predicted, actual), perplexity(losses) or "
                  "correlation(x, y)",
                  {"`metric NAME = mean(float(x))` for anything else that is a mean"});
  Metric metric{s.name.text, form->kind, {}, -1, s.location};
  checkMeasure(s.name, "metric");
  const std::string name = std::string("'") + form->name + "'";
  bool truths = form->kind == MeasureKind::F1, whole = std::string(form->name) == "accuracy",
       mean = form->kind == MeasureKind::Mean && !whole;
  for (const ast::Argument *argument : matchArguments(reporter, name, value.location, form->formals, value.suffixes[0].arguments)) {
    int node = tensor(*argument->value, scope, "an argument of " + name);
    auto wants = [&](bool fits, const std::string &what) {
      if (!fits)
        reporter.fail(Code::A16, argument->value->location, name + " takes " + what + ", this is " + describedTensor(graph, node));
    };
    wants(!truths || graph.isTruth(node), "truth values, such as predicted == 1");
    wants(!whole || !graph.isFloat(node), "integers or truth values");
    wants(truths || whole || mean || graph.isFloat(node), "floats");
    const AxisNames &axes = graph.type(node).axes;
    if (!contains(axes, "batch"))
      reporter.fail(Code::A16, argument->value->location,
                    "the argument of a metric must keep the axis 'batch', this is over " + textOf(axes));
    if (const AxisNames first = metric.nodes.empty() ? axes : graph.type(metric.nodes[0]).axes; !sameAxes(axes, first))
      reporter.fail(Code::A16, argument->value->location,
                    name + " compares values over the same axes: " + textOf(first) + " and " + textOf(axes));
    else
      node = ordered(graph, argument->value->location, node, first);
    metric.nodes.push_back(node);
  }
  if (whole) {
    const Value hit =
        tensorArithmetic(graph, reporter, ast::Operator::Equal, value.location, TensorValue{metric.nodes[0]}, TensorValue{metric.nodes[1]});
    metric.nodes = {std::get<TensorValue>(hit).node};
  }
  const AxisNames axes = graph.type(metric.nodes[0]).axes; // a copy: the condition adds nodes
  metric.condition = condition(s, axes, scope);
  graph.model.metrics.push_back(std::move(metric));
}

void ModelElaborator::prediction(const Statement &s, Scope &scope) {
  ast::Expression named;
  named.kind = ast::ExpressionKind::Name;
  named.text = s.name.text, named.location = s.name.location;
  const ast::Expression &value = s.value ? *s.value : named;
  checkTensorName(s.name, "output");
  Prediction prediction{s.name.text, tensor(value, scope, "an output"), s.location};
  for (const Prediction &other : graph.model.predictions)
    if (other.name == prediction.name) {
      reporter.error(Code::A16, s.name.location, "output '" + prediction.name + "' is declared twice", other.location,
                     "first declared here");
      throw Stop{};
    }
  const AxisNames &axes = graph.type(prediction.node).axes;
  if (axes.empty() || axes[0] != "batch")
    reporter.fail(Code::A16, value.location,
                  "the first axis of an output must be 'batch', followed by the axes of a sample; this one is over " + textOf(axes));
  graph.model.predictions.push_back(std::move(prediction));
}

} // namespace npar::dsl
