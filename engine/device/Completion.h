// How what was started asynchronously says that it is over.
#pragma once

#include "engine/status/Status.h"

namespace npar::engine {

/// Called once for what it was given to, from any thread, perhaps before the call that started it returns. An error means that nothing may
/// be read of what was to be written.
class Completion {
public:
  virtual void completed(const Status &status) = 0;

protected:
  ~Completion() = default;
};

} // namespace npar::engine
