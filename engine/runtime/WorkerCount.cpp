// How many workers a session has, and how its backend may spread a step over them.
#include "engine/runtime/WorkerCount.h"

#include <oneapi/tbb/info.h>

namespace npar::engine {

int workerCount(int asked) { return asked > 0 ? asked : tbb::info::default_concurrency(); }

Spread spreadOf(int64_t ranks, int workers) {
  Spread spread;
  spread.threads = workers, spread.splitSteps = workers > 1 && ranks < 2 * workers, spread.ranks = ranks;
  return spread;
}

} // namespace npar::engine
