// Reports the end of an asynchronous operation.
#pragma once

#include "engine/status/Status.h"

namespace npar::engine {

/// Called once per operation, from any thread, perhaps before the call that started it returns. After an error, the operation's output must
/// not be read.
class Completion {
public:
  virtual void completed(const Status &status) = 0;

protected:
  ~Completion() = default;
};

} // namespace npar::engine
