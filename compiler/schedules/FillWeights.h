// Puts W where it costs nothing.
#pragma once

#include "compiler/schedules/Schedule.h"

#include <limits>

namespace npar::schedules {

/// Rule by which a stage decides when to run W.
struct WeightRule {
  int limit = 0;       ///< most chunks of micro-batches held at once, from F to the end of W; W makes room for a forward that needs it
  double patience = 0; ///< no W starts when the next forward or backward is known to be ready before this share of the W has passed
};

struct Filled {
  TaskLists lists;  ///< empty when a limit keeps forwards from ever starting, the order cannot run, or the score is above what is allowed
  double cost = 0;  ///< max over the stages of the time from the start of the first task to the end of the last
  double spans = 0; ///< sum over the stages of that time
};

/// The cost plus a little of the time of all stages, which guides a search if many stages cost the same.
double score(const Filled &filled);

/// The lists of the schedule with every backward split: forwards and backwards in the order that they have, each as soon as its input is
/// there, and W where a stage would wait or needs the memory, otherwise at the end. `rules` and `costs` have one entry per stage. Gives up
/// as soon as the waits of stages make it certain that the score is above `most`.
Filled fillWeights(const Schedule &schedule, const std::vector<StageCost> &costs, double transfer, const std::vector<WeightRule> &rules,
                   double most = std::numeric_limits<double>::infinity());

/// The same as above for F = B = W, instantaneous messages, and the same limit on every stage.
TaskLists fillWeights(const Schedule &schedule, int limit);

} // namespace npar::schedules
