// Derives D and M (RULES.md#P10).
#include "dsl/plan/Batch.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/Mesh.h"

#include <algorithm>

namespace npar::dsl {

Accumulation readAccumulation(const ast::Expression *value, PlanText &text) {
  Accumulation accumulation;
  try {
    if (value) {
      accumulation.at = value->location;
      int64_t given = text.evaluator.integer(*value, text.scope, "'accumulate'");
      if (given < 1 || given > INT32_MAX)
        text.reporter.fail(Code::P10, value->location,
                           "'accumulate' is " + std::to_string(given) + ", it must be 1 to " + std::to_string(INT32_MAX));
      accumulation.size = given;
    }
  } catch (const Stop &) {
  }
  return accumulation;
}

MicroSize readMicro(const ast::Expression *value, const ast::Plan *source, MicroSize standing, const Accumulation &accumulation,
                    const GlobalBatch &batch, const std::vector<MeshAxis> &mesh, PlanText &text) {
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
        text.reporter.fail(Code::P10, value->location,
                           "'micro' is " + std::to_string(given) + ", it must be 1 to " + std::to_string(INT32_MAX));
      }
    } else if (accumulation.size > 0) {
      micro = {0, accumulation.at};
    } else if (source) {
      text.reporter.fail(Code::P10, source->name.location, "plan '" + source->name.text + "' has no micro",
                         {"write `micro 1`: sequences per rank and micro-batch"});
    }
  } catch (const Stop &) {
  }
  return micro;
}

DataParallel dataParallelOf(const std::vector<PlanRule> &rules, const std::vector<MeshAxis> &mesh) {
  DataParallel data;
  std::vector<std::string> taken;
  for (const PlanRule &e : rules)
    if (e.enabled && e.rule.axis == "batch" && e.rule.op.empty() && e.rule.layer.empty())
      for (const std::string &name : e.rule.mesh)
        if (const MeshAxis *axis = findMesh(mesh, name); axis && std::find(taken.begin(), taken.end(), name) == taken.end()) {
          taken.push_back(name);
          data.axes.emplace_back(name, axis->size);
          data.ranks *= axis->size;
        }
  return data;
}

namespace {

/// A product in words and in numbers, as in "dp * micro = 4 * 8 = 32". A single factor has its number only.
std::string productText(const DataParallel &data, const std::vector<std::pair<std::string, int64_t>> &more) {
  std::string names, sizes;
  int64_t product = 1;
  bool isHuge = false;
  std::vector<std::pair<std::string, int64_t>> factors = data.axes;
  factors.insert(factors.end(), more.begin(), more.end());
  for (const auto &[name, size] : factors) {
    names += (names.empty() ? "" : " * ") + name;
    sizes += (sizes.empty() ? "" : " * ") + std::to_string(size);
    isHuge |= __builtin_mul_overflow(product, size, &product);
  }
  return names + " = " + (isHuge ? sizes : (factors.size() > 1 ? sizes + " = " : "") + std::to_string(product));
}

/// The multiples of `unit` around a batch that is none.
Helps nearestBatches(int64_t batch, int64_t unit) {
  std::vector<std::string> legal;
  if (batch > unit)
    legal.push_back(std::to_string(batch - batch % unit));
  if (int64_t above = batch - batch % unit + unit; above <= INT32_MAX)
    legal.push_back(std::to_string(above));
  return legal.empty() ? Helps() : Helps{"the nearest legal batch is " + joined(legal)};
}

/// Every size is given, and they contradict each other.
void reportContradiction(const DataParallel &data, const MicroSize &micro, const Accumulation &accumulation, const GlobalBatch &global,
                         Reporter &reporter) {
  const int64_t batch = global.size, unit = data.ranks * micro.size, perMicro = data.ranks * accumulation.size;
  Helps helps;
  if (batch % unit == 0)
    helps.push_back("accumulate = " + std::to_string(batch / unit) + " fits this batch");
  if (batch % perMicro == 0)
    helps.push_back("or micro = " + std::to_string(batch / perMicro));
  helps.push_back("or leave out `batch`, `micro` or `accumulate`: it follows from the others");
  reporter.error(Code::P10, accumulation.at,
                 "batch " + std::to_string(batch) + " is not " +
                     productText(data, {{"micro", micro.size}, {"accumulate", accumulation.size}}),
                 global.at, "the batch is given here", helps);
}

} // namespace

Division divideBatch(const DataParallel &data, const MicroSize &micro, const Accumulation &accumulation, const GlobalBatch &global,
                     Reporter &reporter) {
  const int64_t batch = global.size, D = data.ranks;
  if (micro.size == 0) { // at most 2^20 and 2^31
    const int64_t unit = D * accumulation.size;
    if (batch % unit == 0)
      return {batch / unit, accumulation.size};
    reporter.error(Code::P10, global.at,
                   "batch " + std::to_string(batch) + " is not divisible by " + productText(data, {{"accumulate", accumulation.size}}),
                   accumulation.at, "micro-batches per training step", nearestBatches(batch, unit));
    return {};
  }
  const int64_t unit = D * micro.size;
  if (accumulation.size > 0 && (batch % unit != 0 || batch / unit != accumulation.size)) {
    reportContradiction(data, micro, accumulation, global, reporter);
    return {micro.size, accumulation.size};
  }
  if (batch % unit == 0)
    return {micro.size, batch / unit};
  Helps helps = nearestBatches(batch, unit);
  if (batch % D == 0)
    helps.push_back("or, for this batch, micro = " + nearestDivisors(batch / D, std::min(micro.size, batch / D)));
  reporter.error(Code::P10, global.at,
                 "batch " + std::to_string(batch) + " is not divisible by " + productText(data, {{"micro", micro.size}}), micro.at,
                 "micro is the number of sequences per rank and micro-batch", helps);
  return {micro.size, 1};
}

} // namespace npar::dsl
