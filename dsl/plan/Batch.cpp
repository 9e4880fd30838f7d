// Derives D and M (RULES.md#P10).
#include "dsl/plan/Batch.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/Mesh.h"

#include <algorithm>

namespace npar::dsl {

MicroSize readMicro(const ast::Expression *value, const ast::Plan *source, MicroSize standing, const GlobalBatch &batch,
                    const std::vector<MeshAxis> &mesh, PlanText &text) {
  MicroSize micro = standing;
  Scope scope(&text.scope);
  for (const MeshAxis &axis : mesh)
    if (!text.scope.find(axis.name))
      scope.bind(axis.name, axis.size, axis.location);
  if (batch.size > 0)
    scope.bind("batch", batch.size, batch.at);
  try {
    if (value) {
      micro.size = text.evaluator.integer(*value, scope, "'micro'");
      micro.at = value->location;
      if (int64_t given = micro.size; given < 1 || given > INT32_MAX) {
        micro.size = 1;
        text.reporter.fail(value->location, "'micro' is " + std::to_string(given) + ", it must be 1 to " + std::to_string(INT32_MAX));
      }
    } else if (source) {
      text.reporter.fail(source->name.location, "plan '" + source->name.text + "' has no micro",
                         {"write `micro 1`: sequences per rank and micro-batch"});
    }
  } catch (const Stop &) {
  }
  return micro;
}

Division divideBatch(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh, const MicroSize &micro,
                     const GlobalBatch &global, Reporter &reporter) {
  Division result;
  std::vector<std::string> taken;
  std::string names, sizes; // of the axes that divide the batch, with the signs of a product
  for (const PlanRule &e : rules)
    if (e.enabled && e.rule.axis == "batch" && e.rule.op.empty() && e.rule.layer.empty())
      for (const std::string &name : e.rule.mesh)
        if (const MeshAxis *axis = findMesh(mesh, name); axis && std::find(taken.begin(), taken.end(), name) == taken.end()) {
          taken.push_back(name);
          names += name + " * ";
          sizes += std::to_string(axis->size) + " * ";
          result.dataParallel *= axis->size;
        }
  int64_t batch = global.size, D = result.dataParallel, unit = D * micro.size; // at most 2^20 and 2^31
  if (batch % unit == 0) {
    result.microCount = batch / unit;
    return result;
  }
  std::vector<std::string> legal;
  if (batch > unit)
    legal.push_back(std::to_string(batch - batch % unit));
  if (int64_t above = batch - batch % unit + unit; above <= INT32_MAX)
    legal.push_back(std::to_string(above));
  Helps helps;
  if (!legal.empty())
    helps.push_back("the nearest legal batch is " + joined(legal));
  if (batch % D == 0)
    helps.push_back("or, for this batch, micro = " + nearestDivisors(batch / D, std::min(micro.size, batch / D)));
  reporter.error(global.at,
                 "batch " + std::to_string(batch) + " is not divisible by " + names +
                     "micro = " + (taken.empty() ? "" : sizes + std::to_string(micro.size) + " = ") + std::to_string(unit),
                 micro.at, "micro is the number of sequences per rank and micro-batch", helps);
  return result;
}

} // namespace npar::dsl
