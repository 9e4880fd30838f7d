// Checks that a plan computes what one rank computes: structure, memory, mathematics in float64, and the plan's own type.
#pragma once

#include "engine/job/Processes.h"
#include "engine/program/Loader.h"
#include "engine/runtime/Session.h"
#include "engine/status/Observer.h"
#include "tools/lib/models/ModelOptions.h"
#include "tools/lib/verify/VerifyReport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::verify {

struct VerifyRequest {
  models::ModelOptions model;
  std::string program;            ///< a compiled program to check instead of the plan's; empty: the plan's
  uint64_t seed = 1;              ///< of parameters, data and directions of finite differences
  int threads = 0;                ///< workers of each process; 0: the usual number
  bool anySize = false;           ///< also models with many parameters, which take long
  bool explainsRounding = true;   ///< in a 16-bit type, look for the place that causes most of the difference to float64
  engine::SessionOptions session; ///< device and time-out of the plan's program. The one-rank program runs on the CPU.
};

/// All `processes` take part, and every process returns the same checks, except that finite differences and rounding are computed by the
/// first alone. A failed check is part of the report; an error means that the checks could not be made.
engine::Result<VerifyReport> verifyPlan(const VerifyRequest &request, job::Processes &processes, engine::Observer &observer);

/// The checks of a compiled program that need no text and run nothing: sends have receives, groups agree, nothing deadlocks.
std::vector<Check> checkStructure(const program::LoadedProgram &program);

} // namespace npar::verify
