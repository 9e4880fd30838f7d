// Named checks that a compiled program must pass before its first step. They run once where the program is made, and once where it is
// loaded (Loader.h).
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::program {

/// The outcome of one check. `detail` tells what was counted when the check holds, and otherwise what is wrong and where.
struct CheckResult {
  std::string name;
  bool ok = true;
  std::string detail;
};

/// Runs, in this order: "well formed" (if it fails, nothing else can be asked), "sends and receives match", "collectives agree",
/// "no deadlock", "every element owned", "memory as planned". The FlatBuffers verifier must have passed. Time grows with
/// classes x tasks x steps, not with ranks.
std::vector<CheckResult> checkProgram(const Program &program);

/// The first check that failed as an error, or success.
engine::Status statusOf(const std::vector<CheckResult> &checks);

} // namespace npar::program
