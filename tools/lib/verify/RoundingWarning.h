// Warns of the one place of a text whose rounding to a plan's 16-bit type causes most of the difference to float64.
#pragma once

#include "engine/runtime/Session.h"
#include "engine/status/Observer.h"
#include "engine/status/Status.h"
#include "tools/lib/models/Compilation.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::verify {

struct RoundingWarning {
  dsl::Location location;
  std::string operation;
  std::vector<std::string> users; ///< operations that take its results, each once
  std::string type;               ///< the plan's, such as "bf16"
  /// Errors of loss and gradients of a step against float64 (RoundingCause.h): in the plan's type, and with nothing rounded there. The
  /// first is infinite if a number left the type's range.
  double error = 0, without = 0;

  std::string text() const;
  std::string help() const;
  /// Both with the line of the text, ready to be printed.
  std::string located(const dsl::Sources &sources) const;
};

struct RoundingReport {
  double error = 0; ///< of one rank in the plan's type, as above
  std::optional<RoundingWarning> warning = std::nullopt;
};

/// Compiles `written` for one rank in its plan's type and compares a step with that of `reference`, the one-rank program in float64. A
/// difference beyond the usual rounding of the type is traced to one place with a few more programs (RoundingCause.h). There is no warning
/// if no single place causes more than half of it.
engine::Result<RoundingReport> findRounding(const models::ElaboratedModel &written, models::ProgramPointer reference,
                                            const engine::SessionOptions &options, uint64_t seed, engine::Observer &observer);

} // namespace npar::verify
