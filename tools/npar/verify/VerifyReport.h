// What `npar verify` says in the end.
#pragma once

#include "engine/program/Program_generated.h"
#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/verify/Equivalence.h"

#include <vector>

namespace npar::driver {

/// Prints the checks on standard output: a table, or the object {ok, plan, checks}. Returns Good or CheckFailed.
ExitCode report(const program::Program &program, const std::vector<Check> &checks, bool asJson);

} // namespace npar::driver
