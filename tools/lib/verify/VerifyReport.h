// The result of a verification, as values and as JSON.
#pragma once

#include "engine/json/JsonForward.h"
#include "engine/program/Program_generated.h"
#include "tools/lib/verify/ErrorMeasure.h"
#include "tools/lib/verify/FlippedChoices.h"
#include "tools/lib/verify/RoundingWarning.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::verify {

struct VerifyReport {
  std::string model, plan;
  int64_t ranks = 1;
  uint64_t parameters = 0;
  std::vector<Check> checks;
  /// Only for a text in a 16-bit type, and only in the first of several processes. A warning does not make the verification fail.
  std::optional<RoundingReport> rounding = std::nullopt;
  dsl::Sources texts = dsl::Sources(); ///< which the warning's location points into
  /// The order of the products of bf16 in the plan's own type; nothing for a program without them.
  std::optional<program::ProductOrder> products = std::nullopt;
  /// Choices of the plan among scores, in its own type; nothing for a model without choices, or if they were not compared.
  std::optional<ChoiceReport> choices = std::nullopt;

  bool good() const { return allHold(checks); }
};

VerifyReport reportOf(const program::Program &program, std::vector<Check> checks);

/// The object {ok, plan, checks, warnings, rounding_error, products, choices}. JSON has no infinity: such errors are null.
OrderedJson jsonOf(const VerifyReport &report);

} // namespace npar::verify
