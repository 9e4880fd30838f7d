// Warns of the one place of a text whose rounding to a plan's 16-bit type makes most of the difference to float64.
#pragma once

#include "engine/runtime/Session.h"
#include "tools/npar/model/LoadModel.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::driver {

struct RoundingWarning {
  dsl::Location location;
  std::string operation;
  std::vector<std::string> users; ///< operations that take its results, each once
  std::string type;               ///< the plan's, such as "bf16"
  /// Of loss and gradients of a step against float64 (RoundingCause.h): as it is, and with nothing rounded there. The first is infinite
  /// where a number left the type's range.
  double error = 0, without = 0;

  std::string text() const;
  std::string help() const;
};

struct RoundingReport {
  double error = 0; ///< of one rank in the plan's type, as above
  std::optional<RoundingWarning> warning = std::nullopt;
};

/// Compiles `written` for one rank in its plan's type and compares a step with that of `reference`, the one-rank program in float64. A
/// difference beyond what the type's rounding commonly makes is traced to one place with a few more programs (RoundingCause.h). There is no
/// warning where no single place makes more than half of it.
Outcome<RoundingReport> findRounding(const ElaboratedModel &written, ProgramPointer reference, const engine::SessionOptions &options,
                                     uint64_t seed);

/// Prints it on standard error, with the line of the text.
void print(const RoundingWarning &warning, const dsl::Sources &sources);

} // namespace npar::driver
