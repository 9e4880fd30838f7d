// The element types of a plan: `compute bf16, gradients f32, reduce f32` and the exceptions of `keep`.
#include "dsl/elaborate/PlanElaborator.h"

#include <algorithm>

namespace npar::dsl {
namespace {

const std::vector<std::pair<std::string, ElementType>> types = {
    {"f32", ElementType::F32}, {"f64", ElementType::F64}, {"bf16", ElementType::BF16}, {"fp16", ElementType::F16}};

/// Operations that a word of `keep` stands for; empty: the word is an operation's own name.
std::vector<std::string> operationsOf(const std::string &word) {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"norm", {"layer_norm", "rms_norm"}}, {"loss", {"cross_entropy"}}, {"embedding", {"gather"}}, {"softmax", {"softmax", "attention"}}};
  auto found = words.find(word);
  return found == words.end() ? std::vector<std::string>{word} : found->second;
}

/// Whether a model has what a word of `keep` stands for.
bool hasOperation(const Model &model, const std::string &word) {
  std::vector<std::string> ops = operationsOf(word);
  return std::any_of(model.nodes.begin(), model.nodes.end(),
                     [&](const Node &node) { return std::find(ops.begin(), ops.end(), node.op) != ops.end(); });
}

bool isHalf(ElementType type) { return type == ElementType::BF16 || type == ElementType::F16; }

} // namespace

std::optional<ElementType> PlanElaborator::elementType(const ast::Expression &expression, const std::string &what,
                                                       const std::vector<std::string> &allowed) {
  try {
    std::string given = word(expression);
    for (const auto &[name, type] : types)
      if (name == given && std::find(allowed.begin(), allowed.end(), name) != allowed.end())
        return type;
    std::string shown = expression.text.empty() ? "this" : expression.text;
    reporter.error(expression.location, "cannot " + what + " in '" + shown + "'", {"it is " + joined(allowed)});
  } catch (const Stop &) {
  }
  return std::nullopt;
}

void PlanElaborator::precision(const ast::Plan *source) {
  if (const ast::Expression *e = values["compute"])
    if (auto type = elementType(*e, "compute", {"f32", "f64", "bf16", "fp16"}))
      plan.compute = *type;
  if (!source)
    return;
  bool half = isHalf(plan.compute);
  // What is computed in f32 has no exceptions; f64, in which `npar verify` runs a mixed plan, drops them.
  auto refuseNarrow = [&](const ast::Expression &type, ElementType given, const std::string &what) {
    if (plan.compute == ElementType::F32 && isHalf(given))
      reporter.error(type.location, "'" + what + type.text + "' is in fewer bits than compute 'f32'",
                     {"write `f32` here, or compute in " + type.text});
  };
  // The two 16-bit types do not mix: fp16's gradients carry a loss scale, bf16's would overflow in its range.
  std::vector<std::string> allowed = {"f32", "bf16", "fp16"};
  if (half)
    allowed = {"f32", plan.compute == ElementType::BF16 ? "bf16" : "fp16"};
  for (const ast::Precision &p : source->precisions) {
    std::optional<ElementType> *target = p.what.text == "gradients" ? &plan.gradients : p.what.text == "reduce" ? &plan.reduce : nullptr;
    if (!target) {
      std::vector<std::string> helps = didYouMean(p.what.text, {"gradients", "reduce"});
      reporter.error(p.what.location, "'" + p.what.text + "' has no element type of its own",
                     helps.empty() ? std::vector<std::string>{"behind `compute` may stand `gradients` and `reduce`"} : helps);
      continue;
    }
    if (*target)
      reporter.error(p.what.location, "'" + p.what.text + "' is given twice");
    *target = elementType(*p.value, p.what.text == "reduce" ? "reduce" : "store gradients", allowed);
    if (*target)
      refuseNarrow(*p.value, **target, p.what.text + " ");
    if (p.hierarchical && p.what.text != "reduce")
      reporter.error(p.hierarchical->location, "'hierarchical' is a way to reduce", {"write `reduce f32 hierarchical`"});
    if (p.hierarchical)
      plan.hierarchical = true, plan.hierarchicalAt = p.hierarchical->location;
  }
  for (const ast::Keep &keep : source->keeps)
    if (auto type = elementType(*keep.type, "keep anything", allowed)) {
      refuseNarrow(*keep.type, *type, "keep in ");
      for (const ast::Narrowing &what : keep.what) {
        for (const Keep &before : plan.keeps)
          if (before.what == what.name.text && before.layer == what.layer)
            reporter.error(what.name.location, "'" + what.name.text + "' is kept twice", before.location, "first kept here");
        plan.keeps.push_back({what.name.text, what.layer, *type, what.name.location});
      }
    }
  if (!half)
    plan.gradients = plan.reduce = std::nullopt;
}

/// Whatever the plan computes in, so that an exception that means nothing is found at once.
void PlanElaborator::checkKeeps(const Model &model) {
  for (const Keep &keep : plan.keeps) {
    bool used = keep.layer ? std::any_of(model.nodes.begin(), model.nodes.end(),
                                         [&](const Node &node) { return matchesPath(keep.what, node.path); })
                           : hasOperation(model, keep.what);
    if (used)
      continue;
    std::string words;
    for (const char *word : {"norm", "loss", "softmax", "attention", "embedding"})
      if (hasOperation(model, word))
        words += std::string(word) + ", ";
    reporter.error(keep.location,
                   "nothing is kept: model '" + model.name + "' has no " +
                       (keep.layer ? "layer \"" + keep.what + '"' : "'" + keep.what + "'"),
                   {keep.layer ? starHelp(model) : "here it is " + words + "an operation of the model, or the path of a layer in quotes"});
  }
  if (!isHalf(plan.compute))
    plan.keeps.clear();
}

} // namespace npar::dsl
