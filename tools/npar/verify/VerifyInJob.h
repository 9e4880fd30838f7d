// Runs the checks of `npar verify` in the processes of a job, and prints the report.
#pragma once

#include "tools/npar/devices/ChosenDevice.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/model/ModelFlags.h"
#include "tools/npar/terminal/ExitCode.h"
#include "tools/npar/verify/CheckPlans.h"

#include <cstdint>
#include <string>
#include <vector>

namespace npar::driver {

class Job;

struct VerifyFlags {
  ModelOptions model;
  JobOptions job;
  int processes = 0;   ///< to launch; 0: not given
  std::string program; ///< a compiled program to check instead of the plan's
  uint64_t seed = 1;
  int threads = 0;
  double timeout = 300;
  ChosenDevice device; ///< of the plan's program; the one rank that it is compared with runs on the CPU
  bool json = false, full = false, all = false, pairs = false;
  bool explains = true;                   ///< looks for a place whose rounding causes most of the difference to float64
  std::vector<std::string> more, combine; ///< more models after the first; features that a plan combines
  std::string printPlan;
  std::string features; ///< to pair; empty: all
  int64_t plans = 0;    ///< 0: not given
  int jobs = 0;
};

/// Checks the structure of the compiled program that the flags name, and prints the report. CheckFailed if a check failed.
ExitCode verifyCompiled(const VerifyFlags &flags);

/// Checks the plan's program, or the compiled program given instead: structure, mathematics in float64 compared with one rank, and its own
/// type. All processes of the job take part, and process 0 prints the report. CheckFailed if a check failed.
ExitCode verifyText(const VerifyFlags &flags, Job &job);

/// How `--all` and `--pairs` check one plan: alone, with limits of their own. 0 `threads` and `jobs` stand for the usual numbers.
PlanCheckOptions planChecks(uint64_t seed, int threads, int jobs);

/// From now on a signal stops the checks of plans, and so does a reader of standard output that goes away. No process and no folder is
/// left.
void letSignalsStopChecks();

} // namespace npar::driver
