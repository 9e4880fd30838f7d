// Reads and checks `experts buffer`.
#include "dsl/plan/ExpertBuffer.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace npar::dsl {

ExpertBuffer readExpertBuffer(const ast::Plan &source, PlanText &text) {
  ExpertBuffer buffer;
  try {
    for (const ast::Setting &each : source.expertBuffers) {
      if (&each != &source.expertBuffers.front())
        text.reporter.fail(Code::M10, each.name.location, "'experts buffer' is given twice");
      if (std::holds_alternative<None>(text.evaluator.evaluate(*each.value, text.scope)))
        continue;
      double size = text.evaluator.number(*each.value, text.scope, "'experts buffer'");
      if (!(size > 0) || !std::isfinite(size))
        text.reporter.fail(Code::M10, each.value->location, "'experts buffer' is " + textOf(size) + ", it must be above 0",
                           {"write `experts buffer 1.5` to reserve 1.5 times the rows of a balanced load, or `none` for the worst case"});
      buffer.size = size;
      buffer.at = each.name.location;
    }
  } catch (const Stop &) {
  }
  return buffer;
}

void checkExpertBuffer(const ExpertBuffer &buffer, const std::vector<PlanRule> &rules, const Model &model, bool isGeneral,
                       Reporter &reporter) {
  if (buffer.size == 0)
    return;
  std::set<std::string> experts;
  for (const Node &node : model.nodes)
    if (node.op == "grouped")
      experts.insert(std::get<std::string>(node.attributes.at("axis")));
  if (experts.empty()) {
    const std::string reason = "model '" + model.name + "' sends no rows to experts";
    if (isGeneral)
      reporter.warning(buffer.at, "'experts buffer' has no effect: " + reason);
    else
      reporter.error(Code::M10, buffer.at, "nothing to reserve: " + reason, {"remove `experts buffer`"});
    return;
  }
  bool areShared = std::any_of(rules.begin(), rules.end(), [&](const PlanRule &each) {
    return each.enabled && !each.rule.mesh.empty() && experts.count(each.rule.axis) > 0;
  });
  if (buffer.size >= 1 && !areShared)
    reporter.warning(buffer.at, "'experts buffer' has no effect: no rule splits the experts, so each rank always has the rows of a "
                                "balanced load");
}

} // namespace npar::dsl
