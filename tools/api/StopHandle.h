// The object behind npar_stop, which libnpar makes and both libraries read.
#pragma once

#include "npar/npar.h"

#include <atomic>

/// A request to stop, made by any thread or by a signal handler. It stays until the object is freed.
struct npar_stop {
  std::atomic<bool> requested{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not wait for a lock");
};
