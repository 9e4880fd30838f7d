// The store rules of a plan (ZeRO): what is kept in shares over which mesh axes; and the size of a bucket of gradients.
#include "dsl/elaborate/PlanElaborator.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const std::vector<std::string> kinds = {"parameters", "gradients", "optimizer"};

const std::string &nameOf(StoreKind kind) { return kinds[static_cast<size_t>(kind)]; }

} // namespace

void PlanElaborator::store(const ast::StoreRule &source) {
  try {
    std::vector<std::string> mesh;
    for (const ast::Name &m : source.mesh) {
      if (!findMesh(m.text)) {
        std::vector<std::string> names;
        for (const MeshAxis &axis : plan.mesh)
          names.push_back(axis.name);
        std::vector<std::string> helps = didYouMean(m.text, names);
        if (helps.empty())
          helps.push_back(names.empty() ? "declare it: `mesh " + m.text + " = 2`" : "the mesh has " + joined(names, "and"));
        reporter.fail(m.location, "unknown mesh axis '" + m.text + "'", helps);
      }
      if (std::find(mesh.begin(), mesh.end(), m.text) != mesh.end())
        reporter.fail(m.location, "mesh axis '" + m.text + "' stands twice in a rule");
      mesh.push_back(m.text);
    }
    bool perStep = false;
    if (source.per) {
      if (source.per->text != "step" && source.per->text != "micro")
        reporter.fail(source.per->location, "gradients are reduced per micro-batch or per step, not per '" + source.per->text + "'",
                      {"write `per micro` (which is the standard) or `per step`"});
      perStep = source.per->text == "step";
      if (std::none_of(source.what.begin(), source.what.end(), [](const ast::Name &what) { return what.text == "gradients"; }))
        reporter.fail(source.per->location, "'per " + source.per->text + "' says when gradients are reduced, and this rule stores none");
    }
    bool enabled = !source.condition || evaluator.truth(*source.condition, scope, "the condition of a rule");
    for (const ast::Name &what : source.what) {
      auto kind = std::find(kinds.begin(), kinds.end(), what.text);
      if (kind == kinds.end()) {
        std::vector<std::string> helps = didYouMean(what.text, kinds);
        reporter.error(what.location, "'" + what.text + "' cannot be stored",
                       helps.empty() ? std::vector<std::string>{"it is " + joined(kinds)} : helps);
        continue;
      }
      Store rule{static_cast<StoreKind>(kind - kinds.begin()), mesh, perStep && what.text == "gradients", what.location};
      auto same = std::find_if(plan.stores.begin(), plan.stores.end(), [&](const Store &other) { return other.what == rule.what; });
      if (enabled && same != plan.stores.end())
        reporter.error(what.location, "a second rule stores '" + what.text + "'", same->location, "the first rule is here");
      else if (enabled)
        plan.stores.push_back(rule);
    }
  } catch (const Stop &) {
  }
}

/// A stage of ZeRO contains those below it: whoever has a share of the gradients updates that share, and needs its optimizer state.
void PlanElaborator::checkStores() {
  auto find = [&](StoreKind kind) -> const Store * {
    auto found = std::find_if(plan.stores.begin(), plan.stores.end(), [&](const Store &rule) { return rule.what == kind; });
    return found == plan.stores.end() ? nullptr : &*found;
  };
  auto requires = [&](StoreKind kind, StoreKind below) {
    const Store *rule = find(kind), *other = find(below);
    if (!rule || (other && other->mesh == rule->mesh))
      return;
    std::string text = nameOf(below) + " -> " + joined(rule->mesh, ",");
    if (other)
      reporter.error(rule->location, "'" + nameOf(kind) + "' and '" + nameOf(below) + "' are stored over different mesh axes",
                     other->location, "'" + nameOf(below) + "' is stored here", {"store both over the same axes"});
    else
      reporter.error(rule->location, "'" + nameOf(kind) + "' cannot be stored in shares while '" + nameOf(below) + "' is whole",
                     {"add `" + nameOf(below) + "` to the rule"});
  };
  requires(StoreKind::Gradients, StoreKind::Optimizer);
  requires(StoreKind::Parameters, StoreKind::Gradients);
  if (plan.pipeline)
    for (const Store &rule : plan.stores)
      if (std::find(rule.mesh.begin(), rule.mesh.end(), plan.pipeline->mesh) != rule.mesh.end())
        reporter.error(rule.location,
                       "'" + nameOf(rule.what) + "' cannot be stored over '" + plan.pipeline->mesh +
                           "', which holds the stages of the pipeline",
                       plan.pipeline->location, "the pipeline is here", {"each stage stores its own blocks already"});
}

void PlanElaborator::bucket(const std::vector<ast::Quantity> &sources) {
  try {
    for (const ast::Quantity &source : sources) {
      if (&source != &sources.front())
        reporter.fail(source.what.location, "'bucket' is given twice");
      plan.bucket = bytes(source);
      plan.bucketAt = source.what.location;
    }
  } catch (const Stop &) {
  }
}

} // namespace npar::dsl
