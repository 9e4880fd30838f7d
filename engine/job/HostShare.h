// The part of a host that belongs to each process of a job: its ranks, its workers and what the other processes there take.
#pragma once

#include "engine/job/Introduction.h"
#include "engine/program/Program_generated.h"
#include "engine/runtime/MemoryNeed.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace npar::job {

/// The ranks of each process, as `place` or else the plan places them; an error if the processes cannot get equal numbers of ranks.
engine::Result<std::vector<std::vector<int64_t>>>
ranksOfProcesses(const std::vector<Introduction> &processes, const program::Program &program, const std::optional<std::string> &place);
/// The ranks of all processes on a process's host; empty if they cannot be placed.
std::vector<int64_t> ranksOnHostOf(const std::vector<Introduction> &processes, size_t process, const program::Program &program,
                                   const std::optional<std::string> &place);
/// The processes on a process's host, which have `threads` workers each (0: the machine's).
engine::Crew crewOf(const std::vector<Introduction> &processes, size_t process, int threads, const std::string &backend);
/// The number of workers of a process: `asked`, which must not exceed the host's processors (BadInput); for 0 a fair share of them.
engine::Result<int> workersOf(const std::vector<Introduction> &processes, size_t process, int asked);

} // namespace npar::job
