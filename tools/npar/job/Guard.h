// A guard process between launcher and npar: turns a signal that kills npar into an exit code, so that the launcher spares the others.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <string>
#include <vector>

namespace npar::driver {

/// Runs a command of npar (given without npar's name) in a child process, and returns its exit code.
///
/// MPICH's mpiexec kills all processes as soon as one that it started dies by a signal, whatever its flags. Therefore, if a signal kills
/// the child after `tellGuard`, the guard returns RunFailed, and the other processes, which watch over the child, detect and report its
/// end. Before `tellGuard` no process watches, so the guard dies by the same signal and the launcher reacts as usual.
///
/// A child that is stopped (SIGSTOP) for longer than the others' time limit is killed, and the guard returns Timeout; on another machine
/// no other process could kill it. Signals are forwarded once each, because the child has a process group of its own. The child does not
/// outlive its guard.
ExitCode guard(const std::vector<std::string> &command);

/// True if this process is a guard or has one. Such a process must die by the signal that ends it, so that guard and launcher see it.
bool isGuarded(int argc, char **argv);

/// Tells the guard that from now on the processes of the job watch over each other, with this time limit. Does nothing without a guard.
void tellGuard(double timeoutSeconds);

} // namespace npar::driver
