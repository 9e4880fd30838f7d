// Finds the mesh axis of the batch, and refuses what its ranks cannot do while one of them holds the optimizer.
#include "dsl/plan/Servers.h"

#include "dsl/elaborate/Graph.h"
#include "dsl/plan/Mesh.h"

namespace npar::dsl {
std::optional<Servers> readServers(const ast::Expression *value, const DataParallel &data, PlanText &text) {
  try {
    if (!value || !text.evaluator.truth(*value, text.scope, "'central'"))
      return std::nullopt;
    if (data.axes.empty())
      text.reporter.fail(Code::M12, value->location, "'central' needs ranks that share the batch, and no rule splits 'batch'",
                         {"add a rule such as `batch -> dp`, or remove `central`"});
    if (data.axes.size() > 1)
      text.reporter.fail(Code::M12, value->location,
                         "'central' needs one mesh axis that splits 'batch', not " + std::to_string(data.axes.size()) + ": '" +
                             data.axes[0].first + "' and '" + data.axes[1].first + "'",
                         {"split 'batch' over one mesh axis"});
    if (data.ranks > 1)
      return Servers{data.axes.front().first, value->location};
  } catch (const Stop &) {
  }
  return std::nullopt;
}

void checkServers(const Plan &plan, const std::vector<PlanRule> &rules, Reporter &reporter) {
  if (!plan.servers)
    return;
  const Servers &servers = *plan.servers;
  const std::string held = "the first rank along '" + servers.mesh + "' holds the optimizer of all ranks";
  auto exclude = [&](Location at, const std::string &what, const std::string &help) {
    reporter.error(Code::M12, at, what + " does not go with 'central': " + held, servers.location, "'central' is here", {help});
  };
  if (const MeshAxis *stages = plan.pipeline ? findMesh(plan.mesh, plan.pipeline->mesh) : nullptr; stages && stages->size > 1)
    exclude(plan.pipeline->location, "a pipeline", "remove the pipeline or `central`");
  for (const Store &store : plan.stores)
    if (contains(store.mesh, servers.mesh))
      exclude(store.location, "a `store` rule over '" + servers.mesh + "'", "remove the rule (as a setting: zero=0) or `central`");
  if (plan.bucket > 0)
    exclude(plan.bucketAt, "'bucket'", "remove `bucket` (as a setting: bucket=none) or `central`");
  for (const PlanRule &rule : rules)
    if (rule.enabled && rule.rule.axis != "batch" && contains(rule.rule.mesh, servers.mesh))
      exclude(rule.axisAt, "splitting '" + rule.rule.axis + "' over '" + servers.mesh + "'", "split it over another mesh axis");
}

} // namespace npar::dsl
