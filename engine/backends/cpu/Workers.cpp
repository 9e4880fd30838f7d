// Splits one step over idle workers without letting the waiting one wander off into another step.
#include "engine/backends/cpu/Workers.h"

#include "engine/device/HandOver.h"
#include "engine/device/WorkOffers.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace npar::engine {

void forEachPart(int64_t count, const std::function<void(int64_t)> &body) {
  if (count <= 1) {
    if (count == 1)
      body(0);
    return;
  }
  WorkOffers::add();
  HandOver begin, end;
  begin.give();
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, count, 1),
        [&](const tbb::blocked_range<int64_t> &range) NPAR_TAKES_OVER {
          begin.take();
          for (int64_t i = range.begin(); i != range.end(); ++i)
            body(i);
          end.give();
        },
        tbb::simple_partitioner());
  });
  end.take();
}

} // namespace npar::engine
