// How many workers a session has, and how its backend may spread a step over them: known before the session is made.
#pragma once

#include "engine/device/Backend.h"

namespace npar::engine {

/// 0 or less: as many as the machine has processors for this process.
int workerCount(int asked);

/// Whether the system starts so many threads, this one included, which oneTBB would not survive to find out. It keeps its threads, so what
/// was possible once is not tried again. RunFailed: how many there may be.
Status checkWorkers(int workers);

/// For so many ranks in a process with `workers` of them.
Spread spreadOf(int64_t ranks, int workers);

} // namespace npar::engine
