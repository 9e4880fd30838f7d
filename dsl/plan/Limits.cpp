// Reads `require memory <= ..., bubble <= ...`.
#include "dsl/plan/Limits.h"

#include "dsl/Suggestions.h"

namespace npar::dsl {

Limits readLimits(const ast::Plan &plan, PlanText &text) {
  Reporter &reporter = text.reporter;
  Limits limits;
  for (const ast::Quantity &source : plan.limits)
    try {
      bool memory = source.what.text == "memory";
      if (!memory && source.what.text != "bubble") {
        Helps helps = didYouMean(source.what.text, {"memory", "bubble"});
        reporter.fail(Code::M9, source.what.location, "a plan cannot limit '" + source.what.text + "'",
                      helps.empty() ? Helps{"it is memory or bubble"} : helps);
      }
      if (memory ? limits.memory.has_value() : limits.bubble.has_value())
        reporter.fail(Code::M9, source.what.location, "'" + source.what.text + "' is limited twice");
      if (memory) {
        limits.memory = text.bytes(source);
        limits.memoryAt = source.what.location;
        continue;
      }
      if (source.unit.text != "%")
        reporter.fail(Code::M9, source.unit.location, "a bubble is a share of a step, in '%'", {"write `bubble <= 20 %`"});
      double percent = text.evaluator.number(*source.value, text.scope, "'bubble'");
      if (!(percent >= 0 && percent <= 100))
        reporter.fail(Code::M9, source.value->location, "'bubble' is " + textOf(percent) + " %, it must be 0 to 100 %");
      limits.bubble = percent / 100;
      limits.bubbleAt = source.what.location;
    } catch (const Stop &) {
    }
  return limits;
}

} // namespace npar::dsl
