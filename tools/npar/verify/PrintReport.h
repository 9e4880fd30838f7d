// Prints the result of `npar verify`.
#pragma once

#include "tools/lib/verify/VerifyReport.h"
#include "tools/npar/terminal/ExitCode.h"

namespace npar::driver {

/// Prints the checks on standard output, as a table or as JSON. Returns Good, or CheckFailed if a check failed.
ExitCode print(const verify::VerifyReport &report, bool asJson);

} // namespace npar::driver
