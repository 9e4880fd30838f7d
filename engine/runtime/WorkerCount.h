// How many workers a session has, and how its backend may spread a step over them: known before the session is made.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// 0 or less: as many as the machine has processors for this process.
int workerCount(int asked);

/// Checks that the system starts this many threads, including the calling one: oneTBB aborts the process when it cannot start one. It keeps
/// its threads, so a number that worked is not tried again. RunFailed with the number that is possible.
Status checkWorkers(int workers);

/// For so many ranks in a process with `workers` of them.
Spread spreadOf(int64_t ranks, int workers);

} // namespace npar::engine
