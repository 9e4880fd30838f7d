// Computes, before the session is made, its number of workers and how its backend may spread a step over them.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// `asked` if it is positive, otherwise the number of processors that this process may use.
int workerCount(int asked);

/// Checks that the system can start this many threads, including the calling one: oneTBB aborts the process when it cannot start one.
/// oneTBB keeps its threads, so a number that worked is not tried again. RunFailed with the possible number.
Status checkWorkers(int workers);

/// The spread of a step for `ranks` ranks in a process with `workers` workers.
Spread spreadOf(int64_t ranks, int workers);

} // namespace npar::engine
