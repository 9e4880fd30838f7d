// Declares axes: sizes, products of axes (`axis head = kv_head * group`) and sums of them.
#include "dsl/elaborate/ModelElaborator.h"

namespace npar::dsl {

using ast::Statement;

void ModelElaborator::axis(const Statement &s, Scope &scope) {
  bool failed = false;
  for (const ast::Item &item : s.items) {
    const std::string &name = item.name.text;
    try {
      Binding *old = scope.find(name);
      bool ownConstant = old && isNumber(old->value);
      if (old && !ownConstant && !std::holds_alternative<Poison>(old->value))
        checkFresh(item.name, scope);
      if (name == "batch") {
        if (item.value)
          reporter.fail(Code::A5, item.name.location, "the size of axis 'batch' comes from the train block and the plan",
                        {"write `axis batch`"});
        scope.bind(name, AxisValue{{name}}, item.name.location);
        continue;
      }
      if (!item.value && !ownConstant) {
        if (old)
          throw Stop{};
        reporter.fail(Code::A1, item.name.location, "axis '" + name + "' has no size and there is no constant '" + name + "'",
                      {"write `axis " + name + " = ...`"});
      }
      if (AxisValue parts = item.value ? factors(*item.value, scope) : AxisValue{}; !parts.names.empty()) {
        graph.declareProduct(name, parts.names, item.name.location);
        parts.products.push_back(name);
        scope.bind(name, AxisValue{parts.names, true, true, std::move(parts.products)}, item.name.location);
        continue;
      }
      int64_t size = 0;
      if (item.value)
        size = integer(*item.value, scope, "the size of axis '" + name + "'");
      else if (auto *i = std::get_if<int64_t>(&old->value))
        size = *i;
      else
        reporter.fail(Code::A1, item.name.location,
                      "the size of axis '" + name + "' must be an integer, constant '" + name + "' is " + textOf(old->value));
      graph.declareAxis(name, size, item.name.location);
      if (AxisNames parts = item.value ? summands(*item.value, scope) : AxisNames{}; !parts.empty())
        graph.declareSum(name, std::move(parts));
      scope.bind(name, AxisValue{{name}}, item.name.location);
    } catch (const Stop &) {
      scope.bind(name, Poison{}, item.name.location);
      failed = true;
    }
  }
  if (failed)
    throw Stop{};
}

AxisNames ModelElaborator::summands(const ast::Expression &size, Scope &scope) {
  AxisNames result;
  if (size.kind != ast::ExpressionKind::Chain)
    return {};
  for (ast::Operator op : size.operators)
    if (op != ast::Operator::Add)
      return {};
  for (const auto &item : size.items) {
    Binding *binding = item->kind == ast::ExpressionKind::Name ? scope.find(item->text) : nullptr;
    auto *axis = binding ? std::get_if<AxisValue>(&binding->value) : nullptr;
    if (!axis || (axis->group && !axis->product))
      return {};
    const std::string &part = axis->product ? axis->products.back() : axis->names[0];
    if (contains(result, part))
      return {};
    result.push_back(part);
  }
  return result;
}

AxisValue ModelElaborator::factors(const ast::Expression &size, Scope &scope) {
  AxisValue result;
  if (size.kind != ast::ExpressionKind::Chain)
    return {};
  for (ast::Operator op : size.operators)
    if (op != ast::Operator::Multiply)
      return {};
  for (const auto &item : size.items) {
    Binding *binding = item->kind == ast::ExpressionKind::Name ? scope.find(item->text) : nullptr;
    auto *axis = binding ? std::get_if<AxisValue>(&binding->value) : nullptr;
    if (!axis || (axis->group && !axis->product) || contains(axis->names, "batch"))
      return {};
    for (const std::string &name : axis->names) {
      if (contains(result.names, name))
        reporter.fail(Code::A8, item->location, "axis '" + name + "' is twice in a product of axes");
      result.names.push_back(name);
    }
    result.products.insert(result.products.end(), axis->products.begin(), axis->products.end());
  }
  return result;
}

} // namespace npar::dsl
