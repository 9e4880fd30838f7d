// What the driver says to people: errors and remarks on stderr, in one voice. Data goes to stdout elsewhere.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>

namespace npar::driver {

/// Prints `npar: error: MESSAGE`; lines after the first are printed as they are.
void printError(const std::string &message);
/// Prints `npar: MESSAGE`.
void printRemark(const std::string &message);

/// Prints the error of a failed Status and returns its exit code.
ExitCode fail(const engine::Status &status);
ExitCode fail(ExitCode code, const std::string &message);

/// Flushes stdout and says whether everything written to it arrived (a full disk shows here).
bool standardOutputArrived();

} // namespace npar::driver
