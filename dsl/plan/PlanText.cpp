// Reads the words and quantities of a plan.
#include "dsl/plan/PlanText.h"

#include "dsl/Suggestions.h"

namespace npar::dsl {

std::string PlanText::word(const ast::Expression &expression) {
  if (expression.kind != ast::ExpressionKind::Name)
    return expression.kind == ast::ExpressionKind::Text ? expression.text : "";
  Binding *constant = scope.find(expression.text);
  if (constant && std::holds_alternative<Poison>(constant->value))
    throw Stop{};
  return constant && std::holds_alternative<std::string>(constant->value) ? std::get<std::string>(constant->value) : expression.text;
}

int64_t PlanText::bytes(const ast::Quantity &quantity) {
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
  Helps helps = didYouMean(quantity.unit.text, names);
  reporter.fail(quantity.unit.location, "unknown unit of memory '" + quantity.unit.text + "'",
                helps.empty() ? Helps{"it is " + joined(names)} : helps);
}

} // namespace npar::dsl
