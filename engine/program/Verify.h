// What a compiled program must satisfy before its first step, as named checks: run once where it is made, and once where it is loaded
// (Loader.h).
#pragma once

#include "engine/program/Program_generated.h"
#include "engine/status/Status.h"

#include <string>
#include <vector>

namespace npar::program {

/// The outcome of one check. `detail` says what was counted when it holds, and what is wrong, where, when it does not.
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
