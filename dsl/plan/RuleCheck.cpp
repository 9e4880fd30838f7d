// Checks the rules of a plan against the model.
#include "dsl/plan/RuleCheck.h"

#include "dsl/Suggestions.h"
#include "dsl/elaborate/Operation.h"
#include "dsl/plan/Mesh.h"
#include "dsl/plan/ModelNames.h"

#include <algorithm>

namespace npar::dsl {
namespace {

bool inTensor(const Model &model, const std::string &axis) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) { return contains(node.type.axes, axis); });
}

std::vector<std::string> namesOf(const std::vector<NodeKind> &kinds) {
  std::vector<std::string> names;
  for (const NodeKind &kind : kinds)
    names.push_back(kind.name);
  return names;
}

/// The word that is meant, or all that there are.
Helps orThese(const std::string &word, const std::vector<std::string> &known) {
  Helps helps = didYouMean(word, known);
  return helps.empty() ? Helps{"it is " + joined(known)} : helps;
}

} // namespace

int64_t RuleCheck::meshSize(const PlanRule &entry) const {
  int64_t size = 1;
  for (const std::string &name : entry.rule.mesh)
    if (const MeshAxis *axis = findMesh(mesh, name))
      size *= axis->size;
  return size;
}

void RuleCheck::checkNames(const PlanRule &e) {
  auto nested = std::find_if(model.nested.begin(), model.nested.end(), [&](const Repeat &r) { return r.label == e.rule.axis; });
  bool unknown = !findRepeat(model, e.rule.axis) && !findAxis(model, e.rule.axis) && !findProduct(model, e.rule.axis);
  if (unknown && nested != model.nested.end()) {
    reporter.error(Code::P9, e.axisAt,
                   "repeat '" + nested->label + "' is inside of repeat '" + nested->inside + "': a block of that goes to a stage whole",
                   nested->location, "declared here", {"map the outer one"});
  } else if (unknown) {
    std::vector<std::string> names;
    for (const Axis &a : model.axes)
      if (a.name.find('.') == std::string::npos) // not the second name that attention gives to a sequence
        names.push_back(a.name);
    for (const ProductAxis &p : model.products)
      names.push_back(p.name);
    for (const Repeat &r : model.repeats)
      names.push_back(r.label);
    Helps helps = didYouMean(e.rule.axis, names);
    std::string constant = contains(model.constants, e.rule.axis) ? "'" + e.rule.axis + "' is a constant, no axis; " : "";
    reporter.error(Code::M4, e.axisAt, "model '" + model.name + "' has no axis or repeat '" + e.rule.axis + "'",
                   helps.empty() ? Helps{constant + "it has " + joined(names, "and")} : helps);
  }
  for (size_t i = 0; i < e.rule.mesh.size(); ++i)
    if (!findMesh(mesh, e.rule.mesh[i]))
      reporter.error(Code::M1, e.meshAt[i], "unknown mesh axis '" + e.rule.mesh[i] + "'", meshHelps(mesh, e.rule.mesh[i]));
}

void RuleCheck::checkNarrowing(const PlanRule &e) {
  const std::string &op = e.rule.op;
  if (!op.empty()) {
    const Operation *operation = findOperation(op);
    std::vector<std::string> made = operation ? namesOf(operation->makes) : std::vector<std::string>();
    if (operation && !contains(made, op))
      reporter.error(Code::M4, e.opAt, "operation '" + op + "' is made of " + joined(made, "and"),
                     {made.size() == 1 ? "write `in op " + made[0] + "`" : "write a rule for each of them"});
    else if (!findNodeKind(op))
      reporter.error(Code::L5, e.opAt, "unknown operation '" + op + "'", orThese(op, namesOf(nodeKinds())));
    else if (std::none_of(model.nodes.begin(), model.nodes.end(), [&](const Node &n) { return n.op == op; }))
      reporter.error(Code::M4, e.opAt, "nothing uses this rule: model '" + model.name + "' has no operation '" + op + "'");
  }
  const std::string &layer = e.rule.layer;
  if (!layer.empty() && std::none_of(model.nodes.begin(), model.nodes.end(), [&](const Node &n) { return matchesPath(layer, n.path); }))
    reporter.error(Code::M4, e.layerAt, "nothing uses this rule: model '" + model.name + "' has no layer \"" + layer + '"',
                   {starHelp(model)});
}

void RuleCheck::checkDivision(const PlanRule &e) {
  Axis axis;
  std::vector<std::string> factors{e.rule.axis};
  std::string sizes;
  if (const ProductAxis *product = findProduct(model, e.rule.axis)) {
    axis = {product->name, 1, product->location};
    factors = product->factors;
    for (const std::string &factor : factors) {
      int64_t size = findAxis(model, factor)->size;
      axis.size *= size;
      sizes += (sizes.empty() ? " = " : " * ") + std::to_string(size);
    }
  } else {
    axis = *findAxis(model, e.rule.axis);
  }
  int64_t ranks = meshSize(e);
  if (!e.rule.by.empty())
    checkWay(e);
  else if (e.schedule)
    reporter.error(
        Code::P9, e.source->schedule->location, "'by' maps a repeat to stages, '" + axis.name + "' is an axis",
        {"for an axis of attention it is `by gather`, `by ring` or `by ring(zigzag)`, for an axis of experts `by gather` or `by "
         "all_to_all`",
         "stages are made of the blocks of a repeat, by its name: `repeat h[4] { ... }` in the model, and `h -> pp by 1f1b` here"});
  if (!e.counts.empty())
    reporter.error(Code::P9, e.source->stages->location, "'stages' counts the blocks of a repeat, '" + axis.name + "' is an axis");
  if (e.live > 0)
    reporter.error(Code::P9, e.source->live->location, "'live' limits what the stages of a repeat hold, '" + axis.name + "' is an axis");
  if (e.rule.pad && axis.name == "batch")
    reporter.error(Code::P8, e.padAt, "'pad' has no effect on 'batch': its size is made of whole micro-batches", {"remove it"});
  if (ranks == 1 || axis.name == "batch") // the size of batch is made from the mesh
    return;
  if (std::none_of(factors.begin(), factors.end(), [&](const std::string &factor) { return inTensor(model, factor); })) {
    reporter.error(Code::M4, e.axisAt, "nothing uses this rule: no tensor of model '" + model.name + "' has axis '" + axis.name + "'",
                   axis.location, "axis declared here", {"remove it from the rule"});
    return;
  }
  bool narrowed = (!e.rule.op.empty() || !e.rule.layer.empty()) && factors.size() == 1;
  if (narrowed || e.rule.pad || axis.size % ranks == 0)
    return;
  const std::string &name = e.rule.mesh[0];
  std::string meshText = e.rule.mesh.size() == 1
                             ? "mesh axis '" + name + "' of size " + std::to_string(ranks)
                             : "mesh axes " + joined(e.rule.mesh, "and") + " of size " + std::to_string(ranks) + " together";
  bool zigzag = e.rule.by == "ring_zigzag"; // two pieces for each rank
  Helps helps;
  if (e.rule.mesh.size() == 1 && (!zigzag || axis.size % 2 == 0))
    helps.push_back(name + " = " + divisorsText(zigzag ? axis.size / 2 : axis.size, ranks));
  int64_t padded = (axis.size + ranks - 1) / ranks * ranks;
  if (e.rule.by.rfind("ring", 0) == 0)
    helps.push_back("or write `" + axis.name + " pad -> " + name + " by gather`: a ring cannot be padded");
  else if (factors.size() == 1)
    helps.push_back("or write `" + axis.name + " pad` to pad it to " + std::to_string(padded));
  else
    helps.push_back("or write `" + axis.name + " pad` to pad its last factor, '" + factors.back() + "'");
  reporter.error(Code::P8, e.axisAt,
                 "axis '" + axis.name + "' of size " + std::to_string(axis.size) + sizes + " is not divisible by " + meshText,
                 findMesh(mesh, name)->location, "mesh declared here", helps);
}

/// Only attention asks how it sees the whole of its sequence, and only rows that are sent to experts how they get there.
void RuleCheck::checkWay(const PlanRule &e) {
  auto isUsed = [&](const char *op, const char *attribute) {
    return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) {
      auto found = node.attributes.find(attribute);
      return node.op == op && found != node.attributes.end() && std::get<std::string>(found->second) == e.rule.axis;
    });
  };
  const std::string &way = e.rule.by;
  bool attention = isUsed("attention", "seq"), experts = isUsed("grouped", "axis");
  if ((attention && way != "all_to_all") || (experts && way.rfind("ring", 0) != 0))
    return;
  std::string reason = way == "all_to_all" ? "for the axis of experts that rows are sent to, and no rows are sent to '"
                                           : "for the sequence of attention, and no attention runs over '";
  reporter.error(Code::P9, e.schedule->at, "'by " + e.schedule->name + "' is " + reason + e.rule.axis + "'",
                 {"remove `by " + e.schedule->name + "`"});
}

void RuleCheck::checkConflicts(const std::vector<PlanRule> &entries) {
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Rule &a = entries[j].rule, &b = entries[i].rule;
      if (!entries[i].enabled || !entries[j].enabled || a.axis != b.axis || a.op != b.op || a.layer != b.layer)
        continue;
      bool both = a.mesh.empty() && b.mesh.empty();
      std::string shared = "none";
      for (const std::string &name : b.mesh)
        if (std::find(a.mesh.begin(), a.mesh.end(), name) != a.mesh.end()) {
          shared = name;
          both = true;
        }
      if (both)
        reporter.error(Code::P2, b.location, "a second rule takes '" + b.axis + "' to '" + shared + "'", a.location,
                       "the first rule is here", {"remove one of them, or narrow the first one with `in op` or `in layer`"});
    }
}

} // namespace npar::dsl
