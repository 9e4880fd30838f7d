// What the driver says to people: errors and remarks on stderr, in one voice. Data goes to stdout elsewhere.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Prints `npar: error: MESSAGE`; lines after the first are printed as they are.
void printError(const std::string &message);
/// Prints `npar: MESSAGE`.
void printRemark(const std::string &message);

/// Prints the error of a failed Status, unless it is printed already, and returns its exit code.
ExitCode fail(const engine::Status &status);
ExitCode fail(ExitCode code, const std::string &message);

/// Keeps errors from now on, so that the processes of a job can agree on what they print. Only the process that `speaks` prints remarks,
/// and only its standard output has data.
void keepErrors(bool speaks);
/// This process speaks from now on, in the place of the one that did; its standard output is open again.
void takeOver();
/// Takes the errors that were kept.
std::vector<std::string> takeErrors();
/// Prints an error now, in the process that speaks.
void sayError(const std::string &message);
/// Prints the errors that were kept, and later ones again, in the process that speaks.
void sayErrors();
/// Returns whether this process speaks for its job, or is no part of one.
bool speaks();

/// Flushes stdout and says whether everything written to it arrived (a full disk shows here).
bool standardOutputArrived();

} // namespace npar::driver
