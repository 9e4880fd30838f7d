// What a plan computes again in the backward pass, and the limits that it sets itself.
#include "dsl/elaborate/PlanElaborator.h"

#include <algorithm>

namespace npar::dsl {

void PlanElaborator::recompute(const ast::Plan *source) {
  const Setting *setting = settings.find("recompute");
  const ast::Expression *value = setting ? setting->value.get() : nullptr;
  auto isNumber = [](const ast::Expression &e) { return e.kind == ast::ExpressionKind::Integer || e.kind == ast::ExpressionKind::Negate; };
  bool every = setting && isNumber(*value), op = false; // `--set recompute=2`
  if (source && !value)
    for (const ast::Recompute &r : source->recomputes) {
      if (value)
        reporter.error(r.location, "'recompute' is given twice");
      value = r.value.get();
      every = r.every, op = r.op;
    }
  if (!source || !value)
    return;
  Recompute &result = plan.recompute;
  result.location = value->location;
  try {
    if (every) {
      result.kind = RecomputeKind::Every;
      result.every = evaluator.integer(*value, scope, "the number of blocks between two kept ones");
      if (result.every < 1)
        reporter.fail(value->location, "'recompute every' needs at least 1 block, not " + std::to_string(result.every));
      return;
    }
    if (value->kind == ast::ExpressionKind::List) {
      for (const ast::ExpressionPtr &each : value->items) {
        if (each->kind != ast::ExpressionKind::Text)
          reporter.fail(each->location, "expected the path of a layer in quotes", {"such as \"h.*.attn\""});
        if (std::find(result.layers.begin(), result.layers.end(), each->text) != result.layers.end())
          reporter.fail(each->location, "layer \"" + each->text + "\" is in the list twice");
        result.layers.push_back(each->text);
        result.layersAt.push_back(each->location);
      }
      if (result.layers.empty())
        reporter.fail(value->location, "the list has no layer", {"write `recompute none`"});
      result.kind = RecomputeKind::Layers;
      return;
    }
    static const std::vector<std::string> words = {"none", "attention", "block"};
    std::string given = word(*value);
    auto found = std::find(words.begin(), words.end(), given);
    if (op && given != "attention")
      reporter.fail(value->location, "of operations only 'attention' is recomputed by name",
                    {"name the layers instead, such as [\"h.*.mlp\"], or write `recompute block`"});
    if (found == words.end() && isNumber(*value))
      reporter.fail(value->location, "a number of blocks stands behind 'every'", {"write `recompute every 2`"});
    if (found == words.end())
      reporter.fail(value->location, given.empty() ? "this cannot be recomputed" : "cannot recompute '" + given + "'",
                    {"it is none, attention, block, `every 2` (blocks) or a list of layers, [\"h.*.attn\"]"});
    result.kind = static_cast<RecomputeKind>(found - words.begin());
  } catch (const Stop &) {
  }
}

void PlanElaborator::checkRecompute(const Model &model) {
  const Recompute &recompute = plan.recompute;
  for (size_t i = 0; i < recompute.layers.size(); ++i)
    if (const std::string &layer = recompute.layers[i];
        std::none_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) { return matchesPath(layer, node.path); }))
      reporter.error(recompute.layersAt[i], "nothing to recompute: model '" + model.name + "' has no layer \"" + layer + '"',
                     {starHelp(model)});
  if (recompute.kind == RecomputeKind::Attention &&
      std::none_of(model.nodes.begin(), model.nodes.end(), [](const Node &node) { return node.op == "attention"; }))
    reporter.error(recompute.location, "nothing to recompute: model '" + model.name + "' has no attention",
                   {"it is none, block, `every 2` (blocks) or a list of layers"});
  if ((recompute.kind == RecomputeKind::Block || recompute.kind == RecomputeKind::Every) && model.blocks == 0)
    reporter.error(recompute.location, "nothing to recompute: model '" + model.name + "' repeats no blocks");
}

void PlanElaborator::limits(const std::vector<ast::Quantity> &sources) {
  for (const ast::Quantity &source : sources)
    try {
      bool memory = source.what.text == "memory";
      if (!memory && source.what.text != "bubble") {
        std::vector<std::string> helps = didYouMean(source.what.text, {"memory", "bubble"});
        reporter.fail(source.what.location, "a plan cannot limit '" + source.what.text + "'",
                      helps.empty() ? std::vector<std::string>{"it is memory or bubble"} : helps);
      }
      if (memory ? plan.memoryLimit.has_value() : plan.bubbleLimit.has_value())
        reporter.fail(source.what.location, "'" + source.what.text + "' is limited twice");
      if (memory) {
        plan.memoryLimit = bytes(source);
        plan.memoryLimitAt = source.what.location;
        continue;
      }
      if (source.unit.text != "%")
        reporter.fail(source.unit.location, "a bubble is a share of a step, in '%'", {"write `bubble <= 20 %`"});
      double percent = evaluator.number(*source.value, scope, "'bubble'");
      if (!(percent >= 0 && percent <= 100))
        reporter.fail(source.value->location, "'bubble' is " + textOf(percent) + " %, it must be 0 to 100 %");
      plan.bubbleLimit = percent / 100;
      plan.bubbleLimitAt = source.what.location;
    } catch (const Stop &) {
    }
}

} // namespace npar::dsl
