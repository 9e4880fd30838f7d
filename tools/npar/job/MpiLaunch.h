// Starts npar in several processes with the mpiexec of an MPI that npar has a module for.
#pragma once

#include "engine/comm/mpi/MpiModules.h"
#include "tools/npar/job/JobOptions.h"
#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

struct LaunchRequest {
  int processes = 1;
  std::string mpi;                  ///< "mpich" or "openmpi"; empty: the first one available
  std::string hosts;                ///< host names for mpiexec, separated by commas; empty: this machine
  std::vector<std::string> command; ///< command of npar, without npar's name
};

/// The command line for an mpiexec. Its flags keep mpiexec from killing the survivors of a failed process, which report the failure
/// themselves (each process has a guard, see Guard.h), and let Open MPI use all processors for any number of processes. They also forbid
/// MPICH's UCX to read the memory of other processes, since the death of one would kill its readers. `root`: the user is root.
std::vector<std::string> mpiexecCommand(const engine::MpiModule &module, const LaunchRequest &request, const std::string &executable,
                                        bool root);

/// Runs mpiexec and returns its exit code. Forwards signals that end a process, so that all processes end in order; MPICH's mpiexec does
/// that itself, so this process is replaced by it. Prints errors.
ExitCode launch(const LaunchRequest &request);

/// Runs this process's command line, without its flag --processes, in `processes` processes.
ExitCode launchAgain(int processes, const JobOptions &options);

} // namespace npar::driver
