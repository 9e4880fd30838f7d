// Runs the checks of `npar verify` on one plan or one compiled program.
#pragma once

#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::driver {

class Job;

struct VerifyFlags {
  ModelOptions model;
  JobOptions job;
  int processes = 0;   ///< to launch; 0: not given
  std::string program; ///< a compiled program to check instead of the one that the plan gives
  uint64_t seed = 1;
  int threads = 0;
  double timeout = 300;
  ChosenDevice device; ///< of the plan's program; the one rank that it is compared with runs on the processor
  bool json = false, full = false, all = false, pairs = false;
  bool explains = true;                   ///< looks for a place whose rounding causes most of the difference to float64
  std::vector<std::string> more, combine; ///< more models after the first; features that a plan combines
  std::string printPlan;
  std::string features; ///< to pair; empty: all
  int64_t plans = 0;    ///< 0: not given
  int jobs = 0;
};

/// Checks the structure of the compiled program that the flags name, and prints the report. CheckFailed where a check failed.
ExitCode verifyCompiled(const VerifyFlags &flags);

/// Checks the plan's program, or the compiled program given for it: structure, mathematics in float64 compared with one rank, and its own
/// type. All processes of the job take part, and process 0 prints the report. CheckFailed where a check failed.
ExitCode verifyText(const VerifyFlags &flags, Job &job);

} // namespace npar::driver
