// Puts W where it costs nothing.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

/// Rule by which a stage decides when to run W.
struct WeightRule {
  int limit = 0;       ///< most chunks of micro-batches held at once, from F to the end of W; W makes room for a forward that needs it
  double patience = 0; ///< no W starts when the next forward or backward is known to be ready before this share of the W has passed
};

struct Filled {
  TaskLists lists;  ///< empty when a limit keeps forwards from ever starting, or the order cannot run
  double cost = 0;  ///< max over the stages of the time from the start of the first task to the end of the last
  double spans = 0; ///< sum over the stages of that time
};

/// The lists of the schedule with every backward split: forwards and backwards in the order that they have, each as soon as its input is
/// there, and W where a stage would wait or needs the memory, otherwise at the end. `rules` and `costs` have one entry per stage.
Filled fillWeights(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules);

/// The same as above for F = B = W, instantaneous messages, and the same limit on every stage.
TaskLists fillWeights(const Schedule &schedule, int limit);

} // namespace npar::schedules
