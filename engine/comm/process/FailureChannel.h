// Reports failures of the job between processes, by a path of its own, separate from the data.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <functional>

namespace npar::engine {

/// Works when messages do not: the library that carries the data may wait forever for a process that no longer exists. Thread-safe.
class FailureChannel {
public:
  virtual ~FailureChannel() = default;
  /// Tells all other processes why this process cannot continue. The first of several failures counts, the same one everywhere if that can
  /// be determined. Returns at once.
  virtual void tell(const Status &status) = 0;
  /// The same, when a rank is known to have done something that its program does not contain.
  virtual void accuse(int64_t rank, const Status &status) {
    (void)rank;
    tell(status);
  }
  /// `told` is called once, from a thread of the channel, when another process has failed, has ended or no longer answers; at once if that
  /// has already happened. There may be several listeners, each with its own address as key. A later call with the same address replaces
  /// the function; an empty function removes the listener, and returns only when no call to it is running.
  virtual void listen(const void *listener, std::function<void(const Status &)> told) = 0;
};

} // namespace npar::engine
