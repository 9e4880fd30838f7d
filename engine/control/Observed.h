// What the control channel asks of whoever runs this process's ranks.
#pragma once

#include "engine/control/States.h"

#include <vector>

namespace npar::engine {

/// Called from the control channel's thread, also while everything else in the process hangs: waits for nobody.
class Observed {
public:
  virtual ~Observed() = default;
  virtual std::vector<int64_t> ranks() const = 0;
  /// Where the ranks stand; with `waits` also what they wait for. The channel fills in what it knows itself: seconds and phase.
  virtual ProcessState look(bool waits) const = 0;
  virtual Joined joined(const Question &question) const = 0;
  /// Where the step that failed first is; rank -1: none has.
  virtual Place failedPlace() const = 0;
};

} // namespace npar::engine
