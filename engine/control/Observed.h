// Interface through which the control channel observes this process's ranks.
#pragma once

#include "engine/control/States.h"

#include <vector>

namespace npar::engine {

/// Called from the control channel's thread, even while everything else in the process hangs, so it must never block.
class Observed {
public:
  virtual ~Observed() = default;
  virtual std::vector<int64_t> ranks() const = 0;
  /// The positions of the ranks; with `waits` also the operations for which they wait. The channel itself fills in seconds and phase.
  virtual ProcessState look(bool waits) const = 0;
  virtual Joined joined(const Question &question) const = 0;
  /// The place of the step that failed first; rank -1 if none has failed.
  virtual Place failedPlace() const = 0;
};

} // namespace npar::engine
