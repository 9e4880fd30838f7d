// An order of forwards and backwards for any placement, found by running it.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// What a stage decides by when several tasks are ready.
struct GreedyRule {
  int limit = 0;             ///< most chunks of micro-batches held at once, from F to the end of W; at least the number of chunks
  double slack = 1;          ///< a chunk may have so many times the micro-batches between F and B that it needs when none of them waits
  bool forwardFirst = false; ///< a ready forward goes before a ready backward
};

/// Whenever a stage is free, it takes a forward or backward that is ready (that of the chunk which is further in its direction), otherwise
/// a W. A forward leaves room for one of each chunk after it on the stage, so the oldest micro-batch can always go on and the run never
/// gets stuck. No lists when the limit is below the number of chunks.
Schedule greedyOrder(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer,
                     const GreedyRule &rule);

} // namespace npar::schedules
