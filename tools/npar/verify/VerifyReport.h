// Prints the result of `npar verify`.
#pragma once

#include "engine/program/Program_generated.h"
#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/verify/Equivalence.h"
#include "tools/npar/verify/RoundingWarning.h"

#include <vector>

namespace npar::driver {

/// Prints the checks on standard output: a table, or the object {ok, plan, checks, warnings, rounding_error}. Returns Good or CheckFailed;
/// a warning, which was printed for people, changes nothing. `sources` have its line.
ExitCode report(const program::Program &program, const std::vector<Check> &checks, bool asJson,
                const std::optional<RoundingReport> &rounding = std::nullopt, const dsl::Sources *sources = nullptr);

} // namespace npar::driver
