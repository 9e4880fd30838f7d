// Reads store rules and buckets and checks that the stores fit together.
#include "dsl/plan/Stores.h"

#include "dsl/Suggestions.h"
#include "dsl/plan/Mesh.h"
#include "dsl/plan/Tiers.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const std::vector<std::string> kinds = {"parameters", "gradients", "optimizer", "secondary"};

const std::string &nameOf(StoreKind kind) { return kinds[static_cast<size_t>(kind)]; }

void readStore(const ast::StoreRule &source, const std::vector<MeshAxis> &mesh, PlanText &text, std::vector<Store> &stores) {
  Reporter &reporter = text.reporter;
  try {
    for (const std::optional<ast::Name> &only : {source.folder, source.share})
      if (only)
        reporter.fail(Code::M13, only->location,
                      "a folder and a share belong to a tier, and '" + source.mesh.front().text + "' is a mesh axis",
                      {"remove it, or store in a tier: `host`, or `file \"folder\"`"});
    std::vector<std::string> over;
    for (const ast::Name &m : source.mesh) {
      if (!findMesh(mesh, m.text))
        reporter.fail(Code::M1, m.location, "unknown mesh axis '" + m.text + "'", meshHelps(mesh, m.text));
      if (std::find(over.begin(), over.end(), m.text) != over.end())
        reporter.fail(Code::P7, m.location, "mesh axis '" + m.text + "' is given twice in a rule");
      over.push_back(m.text);
    }
    bool perStep = false;
    if (source.per) {
      if (source.per->text != "step" && source.per->text != "micro")
        reporter.fail(Code::P7, source.per->location,
                      "gradients are reduced per micro-batch or per step, not per '" + source.per->text + "'",
                      {"write `per micro` (which is the default) or `per step`"});
      perStep = source.per->text == "step";
      if (std::none_of(source.what.begin(), source.what.end(), [](const ast::Name &what) { return what.text == "gradients"; }))
        reporter.fail(Code::P7, source.per->location,
                      "'per " + source.per->text + "' says when gradients are reduced, and this rule stores none");
    }
    bool enabled = !source.condition || text.evaluator.truth(*source.condition, text.scope, "the condition of a rule");
    for (const ast::Name &what : source.what) {
      auto kind = std::find(kinds.begin(), kinds.end(), what.text);
      if (kind == kinds.end()) {
        Helps helps = didYouMean(what.text, kinds);
        reporter.error(Code::P7, what.location, "'" + what.text + "' cannot be stored",
                       helps.empty() ? Helps{"it is " + joined(kinds)} : helps);
        continue;
      }
      Store rule{static_cast<StoreKind>(kind - kinds.begin()), over, perStep && what.text == "gradients", what.location};
      auto same = std::find_if(stores.begin(), stores.end(), [&](const Store &other) { return other.what == rule.what; });
      if (enabled && same != stores.end())
        reporter.error(Code::P7, what.location, "a second rule stores '" + what.text + "'", same->location, "the first rule is here");
      else if (enabled)
        stores.push_back(rule);
    }
  } catch (const Stop &) {
  }
}

/// Checks that a second share of the parameters is larger than the first: over some of its mesh axes. `parameters`: the rule of the first;
/// null: they are whole.
void checkSecondary(const Store &rule, const Store *parameters, Reporter &reporter) {
  if (!parameters) {
    reporter.error(Code::P7, rule.location, "'secondary' is a second share of the parameters, and they are not stored in shares",
                   {"remove it, or store parameters, gradients and optimizer over more mesh axes than these"});
    return;
  }
  auto isFirst = [&](const std::string &axis) {
    return std::find(parameters->mesh.begin(), parameters->mesh.end(), axis) != parameters->mesh.end();
  };
  if (rule.mesh.size() < parameters->mesh.size() && std::all_of(rule.mesh.begin(), rule.mesh.end(), isFirst))
    return;
  reporter.error(Code::P7, rule.location,
                 "'secondary' is stored over " + joined(rule.mesh, "and") + ": it needs fewer mesh axes than 'parameters', and only such",
                 parameters->location, "'parameters' is stored here",
                 {"store 'parameters' over all ranks with equal copies, and 'secondary' over those of a host"});
}

} // namespace

std::vector<Store> readStores(const ast::Plan &source, const std::vector<MeshAxis> &mesh, PlanText &text) {
  std::vector<Store> stores;
  for (const ast::StoreRule &rule : source.stores)
    if (!tierOf(rule, mesh))
      readStore(rule, mesh, text, stores);
  return stores;
}

/// Checks the stages of ZeRO. A stage includes those below it: a rank with a share of the gradients updates that share and needs its
/// optimizer state.
void checkStores(const std::vector<Store> &stores, const std::optional<Pipeline> &pipeline, Reporter &reporter) {
  auto find = [&](StoreKind kind) -> const Store * {
    auto found = std::find_if(stores.begin(), stores.end(), [&](const Store &rule) { return rule.what == kind; });
    return found == stores.end() ? nullptr : &*found;
  };
  auto requires = [&](StoreKind kind, StoreKind below) {
    const Store *rule = find(kind), *other = find(below);
    if (!rule || (other && other->mesh == rule->mesh))
      return;
    std::string text = nameOf(below) + " -> " + joined(rule->mesh, ",");
    if (other)
      reporter.error(Code::P7, rule->location, "'" + nameOf(kind) + "' and '" + nameOf(below) + "' are stored over different mesh axes",
                     other->location, "'" + nameOf(below) + "' is stored here", {"store both over the same axes"});
    else
      reporter.error(Code::P7, rule->location, "'" + nameOf(kind) + "' cannot be stored in shares while '" + nameOf(below) + "' is whole",
                     {"add `" + nameOf(below) + "` to the rule"});
  };
  requires(StoreKind::Gradients, StoreKind::Optimizer);
  requires(StoreKind::Parameters, StoreKind::Gradients);
  if (const Store *rule = find(StoreKind::Secondary))
    checkSecondary(*rule, find(StoreKind::Parameters), reporter);
  if (pipeline)
    for (const Store &rule : stores)
      if (std::find(rule.mesh.begin(), rule.mesh.end(), pipeline->mesh) != rule.mesh.end())
        reporter.error(Code::P7, rule.location,
                       "'" + nameOf(rule.what) + "' cannot be stored over '" + pipeline->mesh + "', which holds the stages of the pipeline",
                       pipeline->location, "the pipeline is here", {"each stage stores its own blocks already"});
}

Bucket readBucket(const ast::Plan *source, PlanText &text) {
  Bucket bucket;
  const Setting *setting = text.settings.find("bucket");
  if (!source)
    return bucket;
  try {
    for (const ast::Quantity &quantity : source->buckets) {
      if (&quantity != &source->buckets.front())
        text.reporter.fail(Code::M3, quantity.what.location, "'bucket' is given twice");
      bucket.bytes = text.bytes(quantity);
      bucket.at = quantity.what.location;
    }
    if (setting)
      bucket.bytes = text.bytes(*setting), bucket.at = setting->keyLocation;
  } catch (const Stop &) {
  }
  return bucket;
}

} // namespace npar::dsl
