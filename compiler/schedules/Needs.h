// The tasks that a task needs before it can run, apart from its turn on its stage: the only place that knows the dependencies of a
// pipeline.
#pragma once

#include "compiler/schedules/Schedule.h"

namespace npar::schedules {

struct Need {
  int stage = 0;
  Task task;
};

/// A forward needs the forward of the part before it in the chain; a backward its own forward and the backward of the part after it;
/// W needs its B.
class Needs {
public:
  /// The placement must be one that `validate` accepts.
  explicit Needs(const Schedule &schedule);
  /// The tasks that a task needs: at most two, of the same micro-batch; what comes from another stage is a message.
  std::vector<Need> of(int stage, const Task &task) const;

private:
  const Placement placement;
  std::vector<int> chunkAt;              ///< per place in the chain
  std::vector<std::vector<int>> placeOf; ///< per stage and chunk
};

} // namespace npar::schedules
