// Works off a list in processes of its own, several at once, so that a crash of one is its result and not the end.
#pragma once

#include "tools/npar/terminal/ExitCode.h"

#include <cstddef>
#include <functional>
#include <string>

namespace npar::driver {

/// What became of a process.
struct ChildResult {
  ExitCode code = ExitCode::Internal;
  std::string output, errors; ///< its standard output and standard error
  std::string crash;          ///< of one that died by a signal: its name
};

/// The cores, as long as nobody asks for another number.
int usualJobs();

/// Calls `work` for 0 to count - 1, each in a process of its own, and `done` here, in order, as soon as a result and all before it are
/// there; once `done` says false no other is started. Otherwise what kept it from that was said: the machine refused files or processes, or
/// a signal stopped it. Takes over the signals that stop a process.
ExitCode inChildren(size_t count, int jobs, const std::function<ExitCode(size_t)> &work,
                    const std::function<bool(size_t, const ChildResult &)> &done);

} // namespace npar::driver
