// Reads the words and quantities of a plan.
#include "dsl/plan/PlanText.h"

#include "dsl/Suggestions.h"

#include <algorithm>
#include <cstdlib>

namespace npar::dsl {

std::string PlanText::word(const ast::Expression &expression) {
  if (expression.kind != ast::ExpressionKind::Name)
    return expression.kind == ast::ExpressionKind::Text ? expression.text : "";
  Binding *constant = scope.find(expression.text);
  if (constant && std::holds_alternative<Poison>(constant->value))
    throw Stop{};
  return constant && std::holds_alternative<std::string>(constant->value) ? std::get<std::string>(constant->value) : expression.text;
}

namespace {

const std::vector<std::pair<std::string, double>> &unitsOfMemory() {
  static const std::vector<std::pair<std::string, double>> units = {
      {"B", 1},     {"kB", 1e3},      {"KB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1e12 * 1.099511627776}};
  return units;
}

/// `number` of a unit, in bytes. `what` is named in messages.
int64_t bytesOf(double number, const std::string &unit, const std::string &what, Location numberAt, Location unitAt, Reporter &reporter) {
  std::vector<std::string> names;
  for (const auto &[name, factor] : unitsOfMemory()) {
    names.push_back(name);
    if (name != unit)
      continue;
    if (!(number >= 0) || number * factor > 9e18)
      reporter.fail(Code::M3, numberAt, "'" + what + "' is " + textOf(number) + " " + name + ", it must be 0 to 9e18 bytes");
    return static_cast<int64_t>(number * factor);
  }
  Helps helps = didYouMean(unit, names);
  reporter.fail(Code::M3, unitAt, "unknown unit of memory '" + unit + "'", helps.empty() ? Helps{"it is " + joined(names)} : helps);
}

} // namespace

int64_t PlanText::bytes(const ast::Quantity &quantity) {
  double number = evaluator.number(*quantity.value, scope, "'" + quantity.what.text + "'");
  return bytesOf(number, quantity.unit.text, quantity.what.text, quantity.value->location, quantity.unit.location, reporter);
}

int64_t PlanText::bytes(const Setting &setting) {
  const std::string text = word(*setting.value);
  const Location at = setting.value->location;
  if (text == "none")
    return 0;
  size_t unit = text.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string::npos)
    reporter.fail(Code::M3, at, "'" + setting.key + "' needs a size and its unit",
                  {"write " + setting.key + "=25MB, or " + setting.key + "=none"});
  size_t letters = std::min(text.find_first_not_of(' ', unit), text.size());
  return bytesOf(std::strtod(text.c_str(), nullptr), text.substr(letters), setting.key, at, at, reporter);
}

} // namespace npar::dsl
