// Starts npar in several processes by the mpiexec of an MPI that it has a module for.
#pragma once

#include "engine/comm/mpi/MpiModules.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

struct LaunchRequest {
  int processes = 1;
  std::string mpi;                  ///< "mpich" or "openmpi"; empty: the first that is here
  std::string hosts;                ///< as mpiexec takes them: names, parted by commas; empty: this machine
  std::vector<std::string> command; ///< of npar, without its name
};

/// The command line for an mpiexec: what makes it leave alone processes that outlive another, which report then by themselves (a guard
/// stands before each: Guard.h), and Open MPI's give all processors to as many processes as are asked for. MPICH's UCX is told not to read
/// the memory of other processes, by which the death of one kills those that read from it. `root`: whether the user is.
std::vector<std::string> mpiexecCommand(const engine::MpiModule &module, const LaunchRequest &request, const std::string &executable,
                                        bool root);

/// Runs the mpiexec and returns its exit code; what ends it from outside is passed on, so that all processes end in order. MPICH's does
/// that by itself, and this process becomes it. Errors are printed.
ExitCode launch(const LaunchRequest &request);

/// The command line of this process again, without its flag --processes, in so many processes.
ExitCode launchAgain(int processes, const JobOptions &options);

} // namespace npar::driver
