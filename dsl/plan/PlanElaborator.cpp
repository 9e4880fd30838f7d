// The order in which a plan's clauses are read, and then checked against the model.
#include "dsl/plan/PlanElaborator.h"

#include "dsl/Suggestions.h"
#include "dsl/Vocabulary.h"
#include "dsl/elaborate/Graph.h"
#include "dsl/elaborate/NamePattern.h"
#include "dsl/parse/GrammarWords.h"
#include "dsl/plan/ExpertBuffer.h"
#include "dsl/plan/HostOrder.h"
#include "dsl/plan/Limits.h"
#include "dsl/plan/Mesh.h"
#include "dsl/plan/ModelNames.h"
#include "dsl/plan/PipelineCheck.h"
#include "dsl/plan/Precision.h"
#include "dsl/plan/ProductRules.h"
#include "dsl/plan/Recompute.h"
#include "dsl/plan/RuleCheck.h"
#include "dsl/plan/RuleReader.h"
#include "dsl/plan/Servers.h"
#include "dsl/plan/Stores.h"
#include "dsl/plan/Tiers.h"
#include "dsl/plan/World.h"

#include <algorithm>

namespace npar::dsl {

/// Clauses that are a name with a value in the grammar.
static const std::vector<std::string> planSettings = {"micro", "accumulate", "compute", "reduce", "products", "central"};

std::vector<std::string> planWords() {
  std::vector<std::string> words = keywordsOf(GrammarItem::Plan);
  for (const std::string &word : planSettings)
    if (std::find(words.begin(), words.end(), word) == words.end())
      words.push_back(word);
  return words;
}

static Helps unknownHelp(const std::string &name) {
  std::vector<std::string> words = planWords();
  Helps helps = didYouMean(name, words);
  return helps.empty() ? Helps{"it has " + joined(words, "and")} : helps;
}

void PlanElaborator::declare(const ast::Plan *source, const GlobalBatch &batch, Location trainAt) {
  size_t before = reporter.errorCount();
  plan.location = source ? source->name.location : trainAt;
  MicroSize micro{source ? 0 : batch.size, plan.location};
  if (source) {
    plan.name = source->name.text;
    isGeneral = source->model.text.empty();
    bindRest(*source, world, sources, text);
    bindConstants(text.evaluator, source->parameters, text.settings, text.scope, "plan '" + plan.name + "'");
    for (const ast::Requirement &each : source->requirements)
      try {
        text.evaluator.require(*each.condition, each.message, text.scope);
      } catch (const Stop &) {
      }
    plan.mesh = readMesh(*source, text);
    checkWorld(plan.mesh, reporter.errorCount() == before, text);
    plan.place = readHostOrder(*source, plan.mesh, reporter);
    rules = RuleReader(schedules, sources, text).read(*source);
  }
  std::map<std::string, const ast::Expression *> values = clauseValues(source);
  Precision precision = readPrecision(values["compute"], source, text);
  plan.compute = precision.compute, plan.tf32 = precision.tf32;
  plan.gradients = precision.gradients, plan.reduce = precision.reduce;
  plan.hierarchical = precision.hierarchical, plan.hierarchicalAt = precision.hierarchicalAt;
  plan.keeps = std::move(precision.keeps);
  if (const ast::Expression *reduce = values["reduce"])
    plan.library = readLibrary(*reduce, text), plan.libraryAt = reduce->location;
  if (const ast::Expression *products = values["products"])
    plan.products = readProducts(*products, text);
  Accumulation accumulation = readAccumulation(values["accumulate"], text);
  micro = readMicro(values["micro"], source, micro, accumulation, batch, plan.mesh, text);
  if (source) {
    plan.stores = readStores(*source, plan.mesh, text);
    plan.tiers = readTiers(*source, plan.mesh, text);
  }
  Bucket bucket = readBucket(source, text);
  plan.bucket = bucket.bytes, plan.bucketAt = bucket.at;
  if (source) {
    ExpertBuffer buffer = readExpertBuffer(*source, text);
    plan.expertBuffer = buffer.size, plan.expertBufferAt = buffer.at;
    Limits limits = readLimits(*source, text);
    plan.memoryLimit = limits.memory, plan.memoryLimitAt = limits.memoryAt;
    plan.bubbleLimit = limits.bubble, plan.bubbleLimitAt = limits.bubbleAt;
  }
  plan.recompute = readRecompute(source, text);
  const DataParallel data = dataParallelOf(rules, plan.mesh);
  plan.dataParallel = data.ranks, plan.micro = micro.size;
  if (isTraining)
    plan.servers = readServers(values["central"], data, text);
  if (micro.size > 0 && accumulation.size > 0 && __builtin_mul_overflow(data.ranks * micro.size, accumulation.size, &impliedBatch))
    impliedBatch = 0;
  if (!isTraining)
    accumulation = forwardOnly(accumulation, micro, batch.size / data.ranks);
  if (reporter.errorCount() == before && batch.size > 0) {
    Division division = divideBatch(data, micro, accumulation, batch, reporter);
    plan.micro = division.micro, plan.microCount = division.microCount;
  }
}

/// An evaluation or generation accumulates nothing: its batch has as many micro-batches as it needs. `samples`: of each data-parallel rank.
Accumulation PlanElaborator::forwardOnly(Accumulation accumulation, const MicroSize &micro, int64_t samples) {
  if (micro.size > 0)
    accumulation.size = 0;
  else if (accumulation.size > 0 && samples % accumulation.size != 0)
    accumulation.size = 1;
  return accumulation;
}

std::map<std::string, const ast::Expression *> PlanElaborator::clauseValues(const ast::Plan *source) {
  std::map<std::string, const ast::Expression *> values;
  if (source)
    for (const ast::Setting &s : source->settings) {
      if (s.name.text == "bucket") {
        reporter.error(Code::M3, s.name.location, "'bucket' needs a size and its unit",
                       {"write `bucket 25 MB`, or leave it out: each gradient alone"});
      } else if (std::find(planSettings.begin(), planSettings.end(), s.name.text) == planSettings.end()) {
        Helps helps;
        if (s.name.text == "gradients")
          helps.push_back("write it after `compute`, with a ',' in between: `compute bf16, gradients f32`");
        else
          helps = unknownHelp(s.name.text);
        reporter.error(Code::M3, s.name.location, "a plan has no '" + s.name.text + "'", helps);
      } else if (!values.insert({s.name.text, s.value.get()}).second) {
        reporter.error(Code::M3, s.name.location, "'" + s.name.text + "' is given twice");
      }
    }
  for (const std::string &key : planSettings)
    if (const Setting *s = text.settings.find(key))
      values[key] = s->value.get();
  return values;
}

void PlanElaborator::check(const Model &model) {
  size_t before = reporter.errorCount();
  fitTo(model);
  RuleCheck rule(plan.mesh, model, reporter);
  for (const PlanRule &each : rules)
    rule.checkNames(each);
  if (reporter.errorCount() != before)
    return;
  for (const PlanRule &each : rules)
    if (each.enabled && !findRepeat(model, each.rule.axis)) {
      rule.checkNarrowing(each);
      rule.checkDivision(each);
    }
  rule.checkConflicts(rules);
  plan.pipeline = PipelineCheck(schedules, plan.mesh, plan.microCount, model, sources, diagnostics, reporter).run(rules);
  checkStores(plan.stores, plan.pipeline, reporter);
  checkServers(plan, rules, reporter);
  warnIdle();
  checkKeeps(plan.keeps, model, reporter);
  if (!isNarrow(plan.compute) && !plan.tf32)
    plan.keeps.clear();
  checkRecompute(plan.recompute, model, reporter);
  checkExpertBuffer({plan.expertBuffer, plan.expertBufferAt}, rules, model, isGeneral, reporter);
  if (reporter.errorCount() != 0)
    return;
  ProductRules products(rules, plan.mesh, model, reporter);
  for (const PlanRule &each : rules)
    if (each.enabled && !findRepeat(model, each.rule.axis))
      for (Rule &made : products.rulesOf(each))
        plan.rules.push_back(std::move(made));
  for (Store &store : plan.stores)
    store.mesh = products.fineNames(store.mesh);
  if (plan.place) {
    plan.place->order = products.fineNames(plan.place->order);
    plan.place->inside = products.fineNames(plan.place->inside);
  }
  plan.mesh = products.fineMesh();
  warnUnusedMesh();
}

/// Returns whether the left-hand side of a rule is a text, as no name has a star in it.
static bool isPattern(const std::string &axis) { return axis.find('*') != std::string::npos; }

/// Adds the rule for each axis that the pattern matches, in the order of their declarations: those that an operation loops over. (Windows
/// need the axis whole that they walk, and an input may have it for nothing else.)
void PlanElaborator::fitPattern(const PlanRule &rule, const Model &model, std::vector<PlanRule> &fitted) {
  auto isUsed = [&](const std::string &axis) {
    return std::any_of(model.nodes.begin(), model.nodes.end(), [&](const Node &node) {
      if (node.operands.empty() || (node.op == "windows" && contains(std::get<AxisNames>(node.attributes.at("over")), axis)))
        return false;
      return contains(node.type.axes, axis) || std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) {
               return contains(model.nodes[static_cast<size_t>(operand)].type.axes, axis);
             });
    });
  };
  size_t before = fitted.size();
  std::vector<std::string> leftOut;
  for (const Axis &axis : model.axes) {
    if (axis.name.find('.') != std::string::npos || !matchesName(rule.rule.axis, axis.name))
      continue;
    if (axis.name == "batch" || !isUsed(axis.name)) {
      leftOut.push_back("'" + axis.name + "'");
      continue;
    }
    fitted.push_back(rule);
    fitted.back().rule.axis = axis.name;
  }
  if (fitted.size() != before || isGeneral)
    return;
  if (leftOut.empty())
    reporter.error(Code::M4, rule.axisAt, "model '" + model.name + "' has no axis whose name matches \"" + rule.rule.axis + '"',
                   {"'*' stands for any text: \"row*\" is every axis whose name begins with 'row'"});
  else
    reporter.error(
        Code::M4, rule.axisAt, '"' + rule.rule.axis + "\" matches only " + joined(leftOut, "and") + ", which patterns leave out",
        {"patterns leave out 'batch', which a rule must name, and axes that no operation loops over: windows walk theirs whole"});
}

void PlanElaborator::fitTo(const Model &model) {
  auto isKnown = [&](const std::string &name) { return findRepeat(model, name) || findAxis(model, name) || findProduct(model, name); };
  std::vector<PlanRule> fitted;
  for (const PlanRule &each : rules) {
    if (isPattern(each.rule.axis)) {
      fitPattern(each, model, fitted);
      continue;
    }
    if (each.rule.axis == "blocks" && !isKnown("blocks"))
      for (const Repeat &repeat : model.repeats) {
        fitted.push_back(each);
        fitted.back().rule.axis = repeat.label;
      }
    if (isKnown(each.rule.axis) || (!isGeneral && (each.rule.axis != "blocks" || model.repeats.empty())))
      fitted.push_back(each);
  }
  for (const PlanRule &each : rules) {
    auto sameRule = [&](const PlanRule &other) { return other.source == each.source; };
    bool isFirst = &*std::find_if(rules.begin(), rules.end(), sameRule) == &each;
    bool isCut = std::any_of(each.rule.mesh.begin(), each.rule.mesh.end(), [&](const std::string &name) {
      const MeshAxis *axis = findMesh(plan.mesh, name);
      return axis && axis->size > 1;
    });
    if (each.enabled && isCut && isFirst && std::none_of(fitted.begin(), fitted.end(), sameRule))
      reporter.warning(each.axisAt, "the rule has no effect: model '" + model.name + "' has none of its axes");
  }
  rules = std::move(fitted);
}

/// Clauses about sums between ranks where the mesh has nothing to add up over; sizes do not matter, they are set to 1 for a trial.
void PlanElaborator::warnIdle() {
  auto isSummed = [&](const MeshAxis &axis) { return !plan.pipeline || plan.pipeline->mesh != axis.name; };
  auto axes = std::count_if(plan.mesh.begin(), plan.mesh.end(), isSummed);
  const std::string but = plan.pipeline ? " besides that of the pipeline" : "";
  if (plan.hierarchical && axes < 2)
    reporter.warning(plan.hierarchicalAt,
                     "'hierarchical' has no effect: it reduces over several mesh axes one after the other, and the mesh has " +
                         (axes == 0 ? std::string("none") : "one") + but);
  if (plan.bucket > 0 && axes == 0)
    reporter.warning(plan.bucketAt, "'bucket' has no effect: no gradients are reduced, since the mesh has no axis" + but);
}

void PlanElaborator::warnUnusedMesh() {
  for (const MeshAxis &axis : plan.mesh) {
    bool used = plan.pipeline && plan.pipeline->mesh == axis.name;
    for (const Rule &r : plan.rules)
      used = used || std::find(r.mesh.begin(), r.mesh.end(), axis.name) != r.mesh.end();
    for (const Store &r : plan.stores)
      used = used || std::find(r.mesh.begin(), r.mesh.end(), axis.name) != r.mesh.end();
    if (!used && axis.size > 1)
      reporter.warning(axis.location, "no rule uses mesh axis '" + axis.name + "' of size " + std::to_string(axis.size) +
                                          ": all of its ranks compute the same");
  }
}

} // namespace npar::dsl
