// The initial values of parameters and states: `zeros`, `ones`, `normal(deviation)` and `uniform(bound)`.
#include "dsl/Suggestions.h"
#include "dsl/elaborate/ModelElaborator.h"

namespace npar::dsl {
namespace {

/// Initial values that are drawn: `normal(0.02)`.
struct Drawn {
  const char *word;
  InitKind kind;
  const char *argument;
};

constexpr Drawn drawn[] = {{"normal", InitKind::Normal, "deviation"}, {"uniform", InitKind::Uniform, "bound"}};

} // namespace

void ModelElaborator::setInitial(Parameter &parameter, const ast::Expression &init, Scope &scope) {
  const bool isName = init.kind == ast::ExpressionKind::Name;
  if (isName && (init.text == "zeros" || init.text == "ones")) {
    parameter.init = init.text == "zeros" ? InitKind::Zeros : InitKind::Ones;
    return;
  }
  const bool isCall = init.kind == ast::ExpressionKind::Suffixed && init.suffixes.size() == 1 &&
                      init.suffixes[0].kind == ast::SuffixKind::Call && init.items[0]->kind == ast::ExpressionKind::Name;
  for (const Drawn &each : drawn) {
    if (!isCall || init.items[0]->text != each.word)
      continue;
    auto slots = matchArguments(reporter, "'" + std::string(each.word) + "'", init.location, {{each.argument}}, init.suffixes[0].arguments);
    const std::string what = "the " + std::string(each.argument);
    parameter.init = each.kind;
    parameter.deviation = number(*slots[0]->value, scope, what);
    if (parameter.deviation < 0)
      reporter.fail(Code::A14, slots[0]->value->location, what + " " + textOf(parameter.deviation) + " is negative");
    return;
  }
  Helps helps = isName ? didYouMean(init.text, {"zeros", "ones", "normal", "uniform"}) : Helps();
  for (const Drawn &each : drawn)
    if (isName && init.text == each.word)
      helps = Helps{std::string("give its ") + each.argument + ", as in `" + each.word + "(0.02)`"};
  reporter.fail(Code::A14, init.location,
                std::string("a ") + (parameter.untrained ? "state" : "parameter") +
                    " starts as zeros, ones, normal(deviation) or uniform(bound)",
                helps);
}

} // namespace npar::dsl
