// An order of forwards and backwards for any placement, found by running it.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// Rule by which a stage chooses among ready tasks.
struct GreedyRule {
  int limit = 0;             ///< most chunks of micro-batches held at once, from F to the end of W; at least the number of chunks
  double slack = 1;          ///< limit of a chunk's micro-batches between F and B, as a factor on the number needed if none waits
  bool forwardFirst = false; ///< a ready forward goes before a ready backward
};

/// Whenever a stage is free, it takes a ready forward or backward (of the chunk that is further in its direction), otherwise a W. A forward
/// leaves room for one micro-batch of each later chunk on the stage, so the oldest micro-batch can always continue and the run never gets
/// stuck. No lists if the limit is below the number of chunks.
Schedule greedyOrder(const Placement &placement, int chunks, int micros, const std::vector<StageCost> &costs, double transfer,
                     const GreedyRule &rule);

} // namespace npar::schedules
