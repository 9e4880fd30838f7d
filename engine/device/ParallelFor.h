// A loop whose rounds are shared among the workers of the arena that calls it.
#pragma once

#include "engine/device/HandOver.h"

#include <cstdint>
#include <oneapi/tbb/parallel_for.h>

namespace npar::engine {

/// `body(i)` for each `i` below `count`, in any order; returns when all have ended. oneTBB decides how many rounds a worker takes at a
/// time.
template <typename Body> void parallelFor(uint64_t count, const Body &body) {
  HandOver begin, end;
  begin.give();
  tbb::parallel_for(uint64_t{0}, count, [&](uint64_t i) NPAR_TAKES_OVER {
    begin.take();
    body(i);
    end.give();
  });
  end.take();
}

} // namespace npar::engine
