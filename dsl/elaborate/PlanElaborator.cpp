// Evaluates a plan's own text and derives D and M (P10).
#include "dsl/elaborate/PlanElaborator.h"

#include <algorithm>

namespace npar::dsl {

const MeshAxis *PlanElaborator::findMesh(const std::string &name) const {
  for (const MeshAxis &axis : plan.mesh)
    if (axis.name == name)
      return &axis;
  return nullptr;
}

void PlanElaborator::declare(const ast::Plan *source, const ElaboratedTrain &train) {
  size_t before = reporter.errorCount();
  if (source) {
    plan.name = source->name.text;
    plan.location = microAt = source->name.location;
    bindConstants(evaluator, source->parameters, settings, scope, "plan '" + plan.name + "'");
    for (const ast::Requirement &each : source->requirements)
      try {
        evaluator.require(*each.condition, each.message, scope);
      } catch (const Stop &) {
      }
    mesh(*source);
    constexpr size_t most = 1000;
    for (const ast::Rule &r : source->rules) {
      if (entries.size() >= most) {
        reporter.error(r.location, "the plan has more than " + std::to_string(most) + " rules");
        break;
      }
      rule(r);
    }
  } else {
    plan.location = microAt = train.train.location;
    plan.micro = train.train.batch;
  }
  settingsOf(source);
  precision(source);
  micro(source);
  if (source) {
    for (const ast::StoreRule &r : source->stores)
      store(r);
    bucket(source->buckets);
    limits(source->limits);
  }
  recompute(source);
  if (reporter.errorCount() == before && train.train.batch > 0)
    parallelism(train);
}

void PlanElaborator::mesh(const ast::Plan &source) {
  constexpr int64_t most = 1 << 20;
  int64_t world = 1;
  constexpr size_t mostAxes = 16;
  for (const ast::Item &item : source.mesh) {
    if (plan.mesh.size() >= mostAxes) {
      reporter.error(item.name.location, "the mesh has more than " + std::to_string(mostAxes) + " axes");
      break;
    }
    const std::string &name = item.name.text;
    MeshAxis axis{name, 1, item.name.location};
    Location at = item.value ? item.value->location : item.name.location;
    try {
      if (const MeshAxis *old = findMesh(name)) {
        reporter.error(item.name.location, "mesh axis '" + name + "' is declared twice", old->location, "first declared here");
        continue;
      }
      if (name == "none")
        reporter.fail(item.name.location, "'none' cannot name a mesh axis: a rule `-> none` means no splitting");
      const std::string what = "the size of mesh axis '" + name + "'";
      if (const Setting *s = settings.find("mesh." + name)) {
        at = s->value->location;
        axis.size = evaluator.integer(*s->value, scope, what);
      } else if (item.value) {
        axis.size = evaluator.integer(*item.value, scope, what);
      } else {
        Binding *constant = scope.find(name);
        if (!constant)
          reporter.fail(item.name.location, "mesh axis '" + name + "' has no size and there is no constant '" + name + "'",
                        {"write `mesh " + name + " = ...`"});
        if (std::holds_alternative<Poison>(constant->value))
          throw Stop{};
        auto *size = std::get_if<int64_t>(&constant->value);
        if (!size)
          reporter.fail(item.name.location, what + " must be an integer, constant '" + name + "' is " + textOf(constant->value));
        axis.size = *size;
      }
      if (axis.size < 1)
        reporter.fail(at, what + " is " + std::to_string(axis.size) + ", the smallest is 1");
      if (__builtin_mul_overflow(world, axis.size, &world) || world > most) {
        world = 0; // said once
        reporter.fail(at, "the mesh has more than " + std::to_string(most) + " ranks");
      }
    } catch (const Stop &) {
      axis.size = 1;
    }
    plan.mesh.push_back(axis);
  }
}

void PlanElaborator::rule(const ast::Rule &source) {
  Entry common;
  common.source = &source;
  try {
    common.schedule = way(source);
    if (common.schedule)
      common.rule.by = common.schedule->way;
    else
      common.schedule = schedule(source);
    common.counts = counts(source);
    for (const ast::Name &m : source.mesh) {
      if (std::find(common.rule.mesh.begin(), common.rule.mesh.end(), m.text) != common.rule.mesh.end())
        reporter.fail(m.location, "mesh axis '" + m.text + "' stands twice in a rule");
      common.rule.mesh.push_back(m.text);
      common.meshAt.push_back(m.location);
    }
    if (common.rule.mesh == std::vector<std::string>{"none"})
      common.rule.mesh.clear();
    for (const ast::Narrowing &n : source.narrowings) {
      std::string &text = n.layer ? common.rule.layer : common.rule.op;
      if (!text.empty())
        reporter.fail(n.name.location, std::string("a rule has one `in ") + (n.layer ? "layer`" : "op`"));
      text = n.name.text;
      (n.layer ? common.layerAt : common.opAt) = n.name.location;
    }
    if (source.condition)
      common.enabled = evaluator.truth(*source.condition, scope, "the condition of a rule");
  } catch (const Stop &) {
    return;
  }
  for (const ast::RuleAxis &axis : source.axes) {
    Entry entry = common;
    entry.rule.axis = axis.name.text;
    entry.rule.location = entry.axisAt = axis.name.location;
    if (!axis.modifier.text.empty()) {
      if (axis.modifier.text != "pad") {
        reporter.error(axis.modifier.location,
                       "expected 'pad', ',' or '->' after axis '" + axis.name.text + "', found '" + axis.modifier.text + "'");
        continue;
      }
      entry.rule.pad = true;
      entry.padAt = axis.modifier.location;
    }
    entries.push_back(std::move(entry));
  }
}

void PlanElaborator::settingsOf(const ast::Plan *source) {
  if (source)
    for (const ast::Setting &s : source->settings) {
      if (s.name.text == "bucket") {
        reporter.error(s.name.location, "'bucket' needs a size and its unit",
                       {"write `bucket 25 MB`, or leave it out: each gradient alone"});
      } else if (s.name.text != "micro" && s.name.text != "compute") {
        std::vector<std::string> helps =
            didYouMean(s.name.text, {"micro", "compute", "mesh", "split", "store", "recompute", "keep", "bucket", "require"});
        if (helps.empty())
          helps.push_back("it has mesh, micro, split, store, recompute, compute, keep, bucket and require");
        reporter.error(s.name.location, "a plan has no '" + s.name.text + "'", helps);
      } else if (!values.insert({s.name.text, s.value.get()}).second) {
        reporter.error(s.name.location, "'" + s.name.text + "' is given twice");
      }
    }
  for (const char *key : {"micro", "compute"})
    if (const Setting *s = settings.find(key))
      values[key] = s->value.get();
}

std::string PlanElaborator::word(const ast::Expression &expression) {
  if (expression.kind != ast::ExpressionKind::Name)
    return expression.kind == ast::ExpressionKind::Text ? expression.text : "";
  Binding *constant = scope.find(expression.text);
  if (constant && std::holds_alternative<Poison>(constant->value))
    throw Stop{};
  return constant && std::holds_alternative<std::string>(constant->value) ? std::get<std::string>(constant->value) : expression.text;
}

int64_t PlanElaborator::bytes(const ast::Quantity &quantity) {
  static const std::vector<std::pair<std::string, double>> units = {
      {"B", 1},     {"kB", 1e3},      {"KB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1e12 * 1.099511627776}};
  double number = evaluator.number(*quantity.value, scope, "'" + quantity.what.text + "'");
  std::vector<std::string> names;
  for (const auto &[name, factor] : units) {
    names.push_back(name);
    if (name != quantity.unit.text)
      continue;
    if (!(number >= 0) || number * factor > 9e18)
      reporter.fail(quantity.value->location,
                    "'" + quantity.what.text + "' is " + textOf(number) + " " + name + ", it must be 0 to 9e18 bytes");
    return static_cast<int64_t>(number * factor);
  }
  std::vector<std::string> helps = didYouMean(quantity.unit.text, names);
  reporter.fail(quantity.unit.location, "unknown unit of memory '" + quantity.unit.text + "'",
                helps.empty() ? std::vector<std::string>{"it is " + joined(names)} : helps);
}

void PlanElaborator::micro(const ast::Plan *source) {
  try {
    if (const ast::Expression *e = values["micro"]) {
      plan.micro = evaluator.integer(*e, scope, "'micro'");
      microAt = e->location;
      if (int64_t given = plan.micro; given < 1 || given > INT32_MAX) {
        plan.micro = 1;
        reporter.fail(e->location, "'micro' is " + std::to_string(given) + ", it must be 1 to " + std::to_string(INT32_MAX));
      }
    } else if (source) {
      reporter.fail(source->name.location, "plan '" + plan.name + "' has no micro",
                    {"write `micro 1`: sequences per rank and micro-batch"});
    }
  } catch (const Stop &) {
  }
}

void PlanElaborator::parallelism(const ElaboratedTrain &train) {
  std::vector<std::string> taken;
  for (const Entry &e : entries)
    if (e.enabled && e.rule.axis == "batch" && e.rule.op.empty() && e.rule.layer.empty())
      for (const std::string &name : e.rule.mesh)
        if (const MeshAxis *axis = findMesh(name); axis && std::find(taken.begin(), taken.end(), name) == taken.end()) {
          taken.push_back(name);
          plan.dataParallel *= axis->size;
        }
  int64_t batch = train.train.batch, D = plan.dataParallel, unit = D * plan.micro; // at most 2^20 and 2^31
  if (batch % unit == 0) {
    plan.microCount = batch / unit;
    return;
  }
  std::vector<std::string> legal;
  if (batch > unit)
    legal.push_back(std::to_string(batch - batch % unit));
  if (int64_t above = batch - batch % unit + unit; above <= INT32_MAX)
    legal.push_back(std::to_string(above));
  std::vector<std::string> helps;
  if (!legal.empty())
    helps.push_back("the nearest legal batch is " + joined(legal));
  if (batch % D == 0)
    helps.push_back("or, for this batch, micro = " + nearestDivisors(batch / D, std::min(plan.micro, batch / D)));
  reporter.error(train.batchAt,
                 "batch " + std::to_string(batch) + " is not divisible by dp * micro = " + std::to_string(D) + " * " +
                     std::to_string(plan.micro) + " = " + std::to_string(unit),
                 microAt, "micro is the number of sequences per rank and micro-batch", helps);
}

} // namespace npar::dsl
