// A process between a launcher and npar: it turns a signal that ends npar into an exit code, so that the launcher leaves the others alone.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Runs the command of npar (without npar's name) in a child process, and returns its exit code. MPICH's mpiexec ends all processes at
/// once when one that it has started dies by a signal, whatever its flags say; so a child that dies so after it has told that the others
/// watch over it (`tellGuard`) has `RunFailed` for a code, and the others find out and report. Before that nobody would: the guard dies by
/// the same signal, and the launcher does as ever. A child that something has stopped (SIGSTOP), which the others have given up by their
/// time limit, is ended, with `Timeout` for a code: on a machine of its own nobody else can. Signals are passed on, each once: the child
/// has a process group of its own. It does not outlive its guard.
ExitCode guard(const std::vector<std::string> &command);

/// True if this process is a guard or has one: the guard and the launcher must see the signal that ends it, and the guard reports it.
bool isGuarded(int argc, char **argv);

/// From now on the processes of this job watch over each other, with this time limit. Of a process without a guard: nothing.
void tellGuard(double timeoutSeconds);

} // namespace npar::driver
