// A device that the stand-in pretends to have: its context and the way it failed.
#pragma once

#include "tests/engine/backends/standin/Queue.h"

namespace npar::standin {

struct Device {
  int number = 0;
  int users = 0;               ///< cuDevicePrimaryCtxRetain without release
  Handle context = nullptr;    ///< of the primary context, while it has users
  Code failed = Code::Success; ///< what every later call returns
  std::string message;         ///< of the failure

  /// The first failure stays. It is printed, for the code alone says little.
  void fail(Outcome outcome);
};

} // namespace npar::standin
