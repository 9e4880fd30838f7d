// Reads and checks `recompute`.
#include "dsl/plan/Recompute.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/ModelNames.h"

#include <algorithm>
#include <iterator>

namespace npar::dsl {

const char *wordOf(RecomputeKind kind) {
  switch (kind) {
  case RecomputeKind::None:
    return "none";
  case RecomputeKind::Attention:
    return "attention";
  case RecomputeKind::Block:
    return "block";
  case RecomputeKind::Every:
    return "every";
  case RecomputeKind::Layers:
    break;
  }
  return "layers";
}

Recompute readRecompute(const ast::Plan *source, PlanText &text) {
  Reporter &reporter = text.reporter;
  Recompute result;
  const Setting *setting = text.settings.find("recompute");
  const ast::Expression *value = setting ? setting->value.get() : nullptr;
  auto isNumber = [](const ast::Expression &e) { return e.kind == ast::ExpressionKind::Integer || e.kind == ast::ExpressionKind::Negate; };
  bool every = setting && isNumber(*value), op = false; // `--set recompute=2`
  if (source && !value)
    for (const ast::Recompute &r : source->recomputes) {
      if (value)
        reporter.error(Code::M7, r.location, "'recompute' is given twice");
      value = r.value.get();
      every = r.every, op = r.op;
    }
  if (!source || !value)
    return result;
  result.location = value->location;
  try {
    if (every) {
      result.kind = RecomputeKind::Every;
      result.every = text.evaluator.integer(*value, text.scope, "the number of blocks between two kept ones");
      if (result.every < 1)
        reporter.fail(Code::M7, value->location, "'recompute every' needs at least 1 block, not " + std::to_string(result.every));
      return result;
    }
    if (value->kind == ast::ExpressionKind::List) {
      for (const ast::ExpressionPtr &each : value->items) {
        if (each->kind != ast::ExpressionKind::Text)
          reporter.fail(Code::M7, each->location, "expected the path of a layer in quotes", {"such as \"h.*.attn\""});
        if (std::find(result.layers.begin(), result.layers.end(), each->text) != result.layers.end())
          reporter.fail(Code::M7, each->location, "layer \"" + each->text + "\" is in the list twice");
        result.layers.push_back(each->text);
        result.layersAt.push_back(each->location);
      }
      if (result.layers.empty())
        reporter.fail(Code::M7, value->location, "the list has no layer", {"write `recompute none`"});
      result.kind = RecomputeKind::Layers;
      return result;
    }
    constexpr RecomputeKind kinds[] = {RecomputeKind::None, RecomputeKind::Attention, RecomputeKind::Block};
    std::string given = text.word(*value);
    const RecomputeKind *found =
        std::find_if(std::begin(kinds), std::end(kinds), [&](RecomputeKind kind) { return given == wordOf(kind); });
    if (op && given != wordOf(RecomputeKind::Attention))
      reporter.fail(Code::M7, value->location, "of operations only 'attention' is recomputed by name",
                    {"name the layers instead, such as [\"h.*.mlp\"], or write `recompute block`"});
    if (found == std::end(kinds) && isNumber(*value))
      reporter.fail(Code::M7, value->location, "a number of blocks must follow 'every'", {"write `recompute every 2`"});
    if (found == std::end(kinds))
      reporter.fail(Code::M7, value->location, given.empty() ? "this cannot be recomputed" : "cannot recompute '" + given + "'",
                    {"it is none, attention, block, `every 2` (blocks; 2 as a setting) or a list of layers, [\"h.*.attn\"]"});
    result.kind = *found;
  } catch (const Stop &) {
  }
  return result;
}

void checkRecompute(const Recompute &recompute, const Model &model, Reporter &reporter) {
  for (size_t i = 0; i < recompute.layers.size(); ++i)
    if (const std::string &layer = recompute.layers[i];
        std::none_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) { return matchesPath(layer, node.path); }))
      reporter.error(Code::M7, recompute.layersAt[i], "nothing to recompute: model '" + model.name + "' has no layer \"" + layer + '"',
                     {starHelp(model)});
  if (recompute.kind == RecomputeKind::Attention &&
      std::none_of(model.nodes.begin(), model.nodes.end(), [](const Node &node) { return node.op == "attention"; }))
    reporter.error(Code::M7, recompute.location, "nothing to recompute: model '" + model.name + "' has no attention",
                   {"it is none, block, `every 2` (blocks; 2 as a setting) or a list of layers"});
  if ((recompute.kind == RecomputeKind::Block || recompute.kind == RecomputeKind::Every) && model.blocks == 0)
    reporter.error(Code::M7, recompute.location, "nothing to recompute: model '" + model.name + "' repeats no blocks");
}

} // namespace npar::dsl
