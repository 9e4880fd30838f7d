// Writes a candidate as text: its plan and its train block are syntax trees that the front end prints.
#include "tools/lib/planner/search/Candidate.h"

#include "dsl/Ast.h"
#include "dsl/Frontend.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace npar::planner {
namespace {

namespace ast = dsl::ast;
using Texts = std::vector<std::string>;

ast::Name name(const std::string &text) { return {text, {}}; }
std::vector<ast::Name> names(const Texts &texts) {
  std::vector<ast::Name> all;
  for (const std::string &text : texts)
    all.push_back(name(text));
  return all;
}
ast::ExpressionPtr expression(ast::ExpressionKind kind, const std::string &text = "") {
  auto made = std::make_unique<ast::Expression>();
  made->kind = kind, made->text = text;
  return made;
}
ast::ExpressionPtr number(int64_t value) {
  ast::ExpressionPtr made = expression(ast::ExpressionKind::Integer, std::to_string(value));
  made->integer = value;
  return made;
}
ast::ExpressionPtr decimal(double value) {
  ast::ExpressionPtr made = expression(ast::ExpressionKind::Number, fmt::format("{}", value));
  made->number = value;
  return made;
}
ast::ExpressionPtr word(const std::string &text) { return expression(ast::ExpressionKind::Name, text); }

/// The syntax tree of a candidate's plan.
class PlanTree {
public:
  PlanTree(const PlanTask &task, const Candidate &candidate) : task(task), c(candidate) {
    plan.name = name("planned"), plan.model = name(task.names.name);
    for (auto [axis, size] : sizes())
      if (size > 1)
        plan.mesh.push_back({name(axis), number(size)});
    plan.settings.push_back({name("micro"), number(c.micro)});
    rules();
    place();
    store();
    if (c.recomputes())
      plan.recomputes.push_back({{}, c.recompute.kind == dsl::RecomputeKind::Every, false, recomputed()});
    if (c.bucket > 0) {
      bool millions = c.bucket % million == 0;
      plan.buckets.push_back({name("bucket"), name(millions ? "MB" : "B"), number(millions ? c.bucket / million : c.bucket)});
    }
    if (c.buffer > 0)
      plan.expertBuffers.push_back({name("experts"), decimal(c.buffer)});
    plan.settings.push_back({name("compute"), word(task.types.computeWord())});
    for (const auto &[what, type] : {std::pair("gradients", task.types.gradients), std::pair("reduce", task.types.reduce)})
      if (type)
        plan.precisions.push_back({name(what), word(program::rowOf(*type).planWord), {}});
  }

  std::string text() const {
    std::ostringstream out;
    dsl::print(plan, out);
    return out.str();
  }

private:
  std::vector<std::pair<const char *, int64_t>> sizes() const {
    return {{"dp", c.dp / c.ep}, {"pp", c.pp}, {"ep", c.ep}, {"cp", c.cp}, {"tp", c.tp}};
  }
  /// The mesh axes along which ranks have other samples.
  std::vector<ast::Name> dataAxes() const { return names(c.ep == 1 ? Texts{"dp"} : c.ep == c.dp ? Texts{"ep"} : Texts{"dp", "ep"}); }

  /// Adds `axes -> mesh`. The vocabulary is padded, because it is seldom divisible.
  ast::Rule &rule(const Texts &axes, const char *mesh) {
    ast::Rule &made = plan.rules.emplace_back();
    for (const std::string &axis : axes)
      made.axes.push_back({name(axis), name(axis == "vocab" ? "pad" : "")});
    made.mesh.push_back(name(mesh));
    return made;
  }
  /// Adds `batch -> tp in layer ...` for each of the layers.
  void shareBatchIn(const Texts &layers) {
    for (const std::string &layer : layers)
      rule({"batch"}, "tp").narrowings.push_back({true, name(layer)});
  }

  /// The axes of tensor parallelism that the model has, except one.
  Texts tensorAxes(const std::string &without = "") const {
    Texts axes;
    for (const char *axis : {"head", "hidden", "vocab"})
      if (axis != without && std::find(task.names.axes.begin(), task.names.axes.end(), axis) != task.names.axes.end())
        axes.push_back(axis);
    return axes;
  }
  /// The same for an own axis and the axes of operations that lack it.
  Texts ownAxes() const {
    const OwnAxis *own = task.ownAxis(c.split.axis);
    Texts axes = own->others;
    axes.insert(axes.begin(), own->name);
    return axes;
  }

  /// Rules that are narrowed to operations or layers come before those that take the same mesh axis everywhere.
  void rules() {
    if (c.ep > 1)
      rule({task.experts.axis}, "ep").narrowings.push_back({false, name("grouped")});
    if (c.dp > 1)
      rule({"batch"}, "dp").mesh = dataAxes();
    if (c.context == Context::Ulysses)
      rule({"head"}, "cp").narrowings.push_back({false, name("attention")});
    if (c.tp > 1)
      tensorRules();
    if (c.cp > 1)
      contextRule();
    if (c.sequence)
      rule({"seq"}, "tp");
    if (c.pp > 1)
      pipelineRule();
  }

  void tensorRules() {
    switch (c.split.kind) {
    case SplitKind::All:
      rule(tensorAxes(), "tp");
      return;
    case SplitKind::Blocks:
      rule(tensorAxes("vocab"), "tp");
      return;
    case SplitKind::FeedForward:
      shareBatchIn(task.names.attentionLayers);
      rule(tensorAxes("head"), "tp");
      return;
    case SplitKind::Attention:
      shareBatchIn(task.names.feedForwardLayers);
      rule(tensorAxes("hidden"), "tp");
      return;
    case SplitKind::Vocabulary:
      rule({"vocab"}, "tp");
      rule({"batch"}, "tp");
      return;
    case SplitKind::OwnAxis:
      rule(ownAxes(), "tp");
      return;
    }
  }

  void contextRule() {
    ast::Rule &made = rule({"seq"}, "cp");
    if (c.context == Context::Ulysses)
      return;
    made.schedule = name(c.context == Context::Gather ? "gather" : "ring");
    if (c.context == Context::Zigzag)
      made.chunks = word("zigzag");
  }

  void pipelineRule() {
    ast::Rule &made = rule(task.names.chains, "pp");
    made.schedule = name(scheduleWord(c)), made.scheduleIsName = true;
    if (!c.hasOwnChunks())
      made.chunks = number(c.chunks);
    if (c.live > 0)
      made.live = number(c.live);
  }

  void place() {
    if (c.place == PlaceOrder::Mesh)
      return;
    Texts inside;
    if (c.cp > 1)
      inside.push_back("cp");
    if (c.tp > 1)
      inside.push_back("tp");
    if (c.place == PlaceOrder::StagesApart) {
      std::vector<ast::Name> order = dataAxes();
      order.insert(order.begin(), name("pp"));
      plan.places.push_back({{}, order, names(inside)});
      return;
    }
    Texts order = {"tp"};
    for (auto [axis, size] : sizes())
      if (size > 1 && std::string(axis) != "tp")
        order.push_back(axis);
    plan.places.push_back({{}, names(order), {}});
  }

  void store() {
    Texts what;
    if (c.zero >= 3)
      what.push_back("parameters");
    if (c.zero >= 2)
      what.push_back("gradients");
    if (c.zero >= 1)
      what.push_back("optimizer");
    if (!what.empty())
      plan.stores.push_back({{}, names(what), dataAxes(), {}, nullptr});
  }

  ast::ExpressionPtr recomputed() const {
    return c.recompute.kind == dsl::RecomputeKind::Every ? number(c.recompute.every) : word(wordOf(c.recompute));
  }

  static constexpr int64_t million = 1'000'000;
  const PlanTask &task;
  const Candidate &c;
  ast::Plan plan;
};

/// `function(name = value, ...)`.
ast::ExpressionPtr call(const std::string &function, std::vector<ast::Argument> arguments) {
  ast::ExpressionPtr made = expression(ast::ExpressionKind::Suffixed);
  made->items.push_back(word(function));
  made->suffixes.emplace_back().arguments = std::move(arguments);
  return made;
}

/// `name = 100` steps, or `name = 0.1 epochs`.
ast::Argument lengthTree(const std::string &argument, const dsl::Length &length) {
  if (length.isInSteps())
    return {name(argument), number(static_cast<int64_t>(length.count))};
  return {name(argument), decimal(length.count), name(length.unit == dsl::LengthUnit::Run ? "run" : "epochs")};
}

ast::ExpressionPtr peakTree(const dsl::LearningRate &rate) {
  if (!rate.scaled)
    return decimal(rate.peak);
  std::vector<ast::Argument> arguments(2);
  arguments[0].value = decimal(rate.scaled->rate);
  arguments[1] = {name("per"), decimal(rate.scaled->per)};
  return call("scaled", std::move(arguments));
}

ast::ExpressionPtr rateTree(const dsl::LearningRate &rate) {
  std::vector<ast::Argument> arguments;
  arguments.push_back({name("peak"), peakTree(rate)});
  arguments.push_back(lengthTree("warmup", rate.warmup));
  if (rate.kind == dsl::ScheduleKind::Constant)
    return call("constant", std::move(arguments));
  if (rate.hasFactor()) {
    arguments.push_back({name("factor"), decimal(rate.factor)});
    arguments.push_back(lengthTree("every", rate.every));
    return call(rate.kind == dsl::ScheduleKind::Step ? "step" : "exponential", std::move(arguments));
  }
  arguments.push_back(lengthTree("steps", rate.steps));
  arguments.push_back({name("final"), decimal(rate.final)});
  return call(rate.kind == dsl::ScheduleKind::Linear ? "linear" : "cosine", std::move(arguments));
}

ast::ExpressionPtr optimizerTree(const dsl::Optimizer &optimizer) {
  std::vector<ast::Argument> arguments;
  arguments.push_back({name("lr"), rateTree(optimizer.rate)});
  for (const dsl::OptimizerArgument &argument : optimizer.arguments) {
    ast::ExpressionPtr value = word(argument.text); // a number or a truth value, as users write it
    if (argument.numbers.size() > 1) {
      value = expression(ast::ExpressionKind::Tuple);
      for (double each : argument.numbers)
        value->items.push_back(decimal(each));
    }
    arguments.push_back({name(argument.name), std::move(value)});
  }
  return call(optimizer.name, std::move(arguments));
}

ast::ParameterRule ruleTree(const TrainingRule &rule) {
  ast::ParameterRule made;
  made.freeze = rule.training.frozen, made.patterns = names(rule.patterns);
  if (!made.freeze && rule.training.decay)
    made.changes.push_back({name("decay"), false, decimal(*rule.training.decay)});
  if (!made.freeze && rule.training.rate != 1)
    made.changes.push_back({name("lr"), true, decimal(rule.training.rate)});
  return made;
}

std::string trainText(const PlanTask &task) {
  ast::Train train;
  train.name = name("planned"), train.model = name(task.names.name);
  train.settings.push_back({name("batch"), number(task.batch)});
  train.settings.push_back({name("optimizer"), optimizerTree(task.train.optimizer())});
  if (task.train.epochs)
    train.settings.push_back({name("epochs"), decimal(*task.train.epochs)});
  train.settings.push_back({name("clip"), task.train.clip ? decimal(*task.train.clip) : word("none")});
  train.settings.push_back({name("seed"), expression(ast::ExpressionKind::Integer, std::to_string(task.train.seed))});
  for (const TrainingRule &rule : task.rules)
    train.rules.push_back(ruleTree(rule));
  std::ostringstream out;
  dsl::print(train, out);
  return out.str();
}

/// The constants that the user has chosen as a configuration; empty without any.
std::string configurationText(const PlanTask &task) {
  std::string constants;
  if (!task.options.config)
    for (const std::string &setting : task.options.settings)
      if (auto pair = models::settingOf(setting))
        constants += fmt::format("{}{} = {}", constants.empty() ? "" : ", ", pair->first, pair->second);
  return constants.empty() ? "" : fmt::format("config \"planned\" for {}({})\n\n", task.names.name, constants);
}

} // namespace

std::string textOf(const PlanTask &task, const Candidate &candidate) {
  return fmt::format("import \"{}\"\n\n", task.importAs) + configurationText(task) + PlanTree(task, candidate).text() + "\n" +
         trainText(task);
}

std::string textToKeep(const PlanTask &task, const Candidate &candidate) {
  if (!task.modelText)
    return textOf(task, candidate);
  const std::string configuration = task.modelText->declaresModel ? "" : configurationText(task);
  return task.modelText->text + "\n" + configuration + PlanTree(task, candidate).text() + "\n" + trainText(task);
}

} // namespace npar::planner
