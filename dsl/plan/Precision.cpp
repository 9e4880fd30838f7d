// Reads the element types of a plan and checks its exceptions.
#include "dsl/plan/Precision.h"

#include "dsl/Nodes.h"
#include "dsl/Suggestions.h"
#include "dsl/plan/ModelNames.h"

#include <algorithm>

namespace npar::dsl {
namespace {

/// TF32 is no type of elements: what is stored is f32.
struct PlanType {
  ElementType element;
  bool tf32 = false;
};

/// Each floating type by its word in plans, and TF32 after float32.
const std::vector<std::pair<std::string, PlanType>> types = [] {
  std::vector<std::pair<std::string, PlanType>> all;
  for (const program::ElementRow &row : program::elementRows) {
    if (isFloating(row.type))
      all.push_back({row.planWord, {row.type}});
    if (row.type == ElementType::F32)
      all.push_back({"tf32", {row.type, true}});
  }
  return all;
}();

std::string planWord(ElementType type) { return program::rowOf(type).planWord; }

std::vector<std::string> allWords() {
  std::vector<std::string> words;
  for (const auto &[word, type] : types)
    words.push_back(word);
  return words;
}

/// Returns whether a model has operations that a word of `keep` selects: by their name, or by a kind that has the word.
bool hasOperation(const Model &model, const std::string &word) {
  return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) {
    const NodeKind *kind = findNodeKind(node.op);
    return node.op == word || (kind && kind->keep == word);
  });
}

/// The type that an expression names; nothing after an error.
std::optional<PlanType> planType(const ast::Expression &expression, const std::string &what, const std::vector<std::string> &allowed,
                                 PlanText &text) {
  try {
    std::string given = text.word(expression);
    for (const auto &[name, type] : types)
      if (name == given && std::find(allowed.begin(), allowed.end(), name) != allowed.end())
        return type;
    std::string shown = expression.text.empty() ? "this" : expression.text;
    text.reporter.error(Code::M6, expression.location, "cannot " + what + " in '" + shown + "'", {"it is " + joined(allowed)});
  } catch (const Stop &) {
  }
  return std::nullopt;
}

/// Refuses exceptions in a plan that computes in f64, where they have no effect. `reduce f64` and `gradients f64` are true, and accepted.
void checkWide(const ast::Plan &source, ElementType compute, PlanText &text) {
  const std::string word = planWord(compute);
  for (const ast::Precision &p : source.precisions)
    if (p.what.text == "gradients" || p.what.text == "reduce")
      try {
        const std::string type = text.word(*p.value);
        bool isType = std::any_of(types.begin(), types.end(), [&](const auto &each) { return each.first == type; });
        if (isType && type != word)
          text.reporter.error(Code::M6, p.value->location,
                              "'" + p.what.text + " " + type + "' has no effect under compute '" + word + "': everything is in " + word,
                              {"remove it, or compute in another type"});
      } catch (const Stop &) {
      }
  for (const ast::Keep &keep : source.keeps)
    text.reporter.error(Code::M6, keep.type->location, "'keep' has no effect under compute '" + word + "': everything is in " + word,
                        {"remove it, or compute in another type"});
}

} // namespace

Precision readPrecision(const ast::Expression *compute, const ast::Plan *source, PlanText &text) {
  Reporter &reporter = text.reporter;
  Precision result;
  if (compute)
    if (auto type = planType(*compute, "compute", allWords(), text))
      result.compute = type->element, result.tf32 = type->tf32;
  if (!source)
    return result;
  bool narrow = isNarrow(result.compute);
  // In f32 the only exceptions are from tf32. In f64 there are none: settings that replace the plan's type, as `npar verify` does, drop
  // them.
  if (isWide(result.compute) && !text.settings.find("compute"))
    checkWide(*source, result.compute, text);
  auto refuseNarrow = [&](const ast::Expression &type, ElementType given, const std::string &what) {
    if (result.compute == ElementType::F32 && isNarrow(given))
      reporter.error(Code::M6, type.location,
                     "'" + what + type.text + "' is in fewer bits than compute '" + (result.tf32 ? "tf32" : "f32") + "'",
                     {"write `f32` here, or compute in " + type.text});
  };
  // The two 16-bit types do not mix: fp16's gradients carry a loss scale, bf16's would overflow in its range.
  std::vector<std::string> allowed;
  for (const auto &[word, type] : types)
    if (!type.tf32 && !isWide(type.element) && (!narrow || !isNarrow(type.element) || type.element == result.compute))
      allowed.push_back(word);
  if (isWide(result.compute))
    allowed.push_back(planWord(result.compute));
  for (const ast::Precision &p : source->precisions) {
    std::optional<ElementType> *target = p.what.text == "gradients" ? &result.gradients
                                         : p.what.text == "reduce"  ? &result.reduce
                                                                    : nullptr;
    if (!target) {
      Helps helps = didYouMean(p.what.text, {"gradients", "reduce"});
      reporter.error(Code::M6, p.what.location, "'" + p.what.text + "' has no element type of its own",
                     helps.empty() ? Helps{"only `gradients` and `reduce` can follow `compute`"} : helps);
      continue;
    }
    if (*target)
      reporter.error(Code::M6, p.what.location, "'" + p.what.text + "' is given twice");
    if (auto type = planType(*p.value, p.what.text == "reduce" ? "reduce" : "store gradients", allowed, text))
      *target = type->element;
    if (*target)
      refuseNarrow(*p.value, **target, p.what.text + " ");
    if (p.hierarchical && p.what.text != "reduce")
      reporter.error(Code::M6, p.hierarchical->location, "'hierarchical' is a way to reduce", {"write `reduce f32 hierarchical`"});
    if (p.hierarchical)
      result.hierarchical = true, result.hierarchicalAt = p.hierarchical->location;
  }
  auto literal = [&](const ast::Expression &e) { return e.kind == ast::ExpressionKind::Name && !text.scope.find(e.text); };
  bool alwaysF32 = result.compute == ElementType::F32 && !result.tf32 && !text.settings.find("compute") && (!compute || literal(*compute));
  for (const ast::Keep &keep : source->keeps)
    if (auto type = planType(*keep.type, "keep anything", allowed, text)) {
      refuseNarrow(*keep.type, type->element, "keep in ");
      if (alwaysF32 && type->element == ElementType::F32)
        reporter.warning(keep.type->location, "'keep' has no effect: everything is computed in f32",
                         {"it makes exceptions under compute bf16, fp16 or tf32"});
      for (const ast::Narrowing &what : keep.what) {
        for (const Keep &before : result.keeps)
          if (before.what == what.name.text && before.layer == what.layer)
            reporter.error(Code::M6, what.name.location, "'" + what.name.text + "' is kept twice", before.location, "first kept here");
        result.keeps.push_back({what.name.text, what.layer, type->element, what.name.location});
      }
    }
  if (!narrow)
    result.gradients = result.reduce = std::nullopt;
  return result;
}

bool readLibrary(const ast::Expression &reduce, PlanText &text) {
  try {
    std::string word = text.word(reduce);
    if (word != "ordered" && word != "library") {
      bool type = std::any_of(types.begin(), types.end(), [&](const auto &each) { return each.first == word; });
      text.reporter.fail(
          Code::M6, reduce.location, "'reduce' is ordered or library, not '" + (reduce.text.empty() ? "this" : reduce.text) + "'",
          type ? Helps{"write the type of sums after `compute`: `compute bf16, reduce f32`"} : didYouMean(word, {"ordered", "library"}));
    }
    return word == "library";
  } catch (const Stop &) {
    return false;
  }
}

ProductOrder readProducts(const ast::Expression &products, PlanText &text) {
  static const std::vector<std::pair<std::string, ProductOrder>> orders = {
      {"fastest", ProductOrder::Fastest}, {"portable", ProductOrder::Portable}, {"pairs", ProductOrder::Pairs}};
  try {
    std::string word = text.word(products);
    for (const auto &[name, order] : orders)
      if (word == name)
        return order;
    text.reporter.fail(Code::M6, products.location,
                       "'products' is fastest, portable or pairs, not '" + (products.text.empty() ? "this" : products.text) + "'",
                       didYouMean(word, {"fastest", "portable", "pairs"}));
  } catch (const Stop &) {
    return ProductOrder::Fastest;
  }
}

void checkKeeps(const std::vector<Keep> &keeps, const Model &model, Reporter &reporter) {
  for (const Keep &keep : keeps) {
    bool used = keep.layer ? std::any_of(model.nodes.begin(), model.nodes.end(),
                                         [&](const Node &node) { return matchesPath(keep.what, node.path); })
                           : hasOperation(model, keep.what);
    if (used)
      continue;
    std::string words;
    for (const char *word : {"norm", "loss", "softmax", "attention", "embedding"})
      if (hasOperation(model, word))
        words += std::string(word) + ", ";
    reporter.error(Code::M6, keep.location,
                   "nothing is kept: model '" + model.name + "' has no " +
                       (keep.layer ? "layer \"" + keep.what + '"' : "'" + keep.what + "'"),
                   {keep.layer ? starHelp(model) : "here it is " + words + "an operation of the model, or the path of a layer in quotes"});
  }
}

} // namespace npar::dsl
