// How processes tell each other that the job has failed, on another way than their data takes.
#pragma once

#include "engine/status/Status.h"

#include <cstdint>
#include <functional>

namespace npar::engine {

/// Works when messages do not: the library that carries the data may wait for ever for a process that is gone. Thread-safe.
class FailureChannel {
public:
  virtual ~FailureChannel() = default;
  /// This process cannot go on: all others are told why. Of several failures the first one counts, everywhere the same where that can be
  /// known. Returns at once.
  virtual void tell(const Status &status) = 0;
  /// The same, where it is known that a rank has done what its program does not say.
  virtual void accuse(int64_t rank, const Status &status) {
    (void)rank;
    tell(status);
  }
  /// `told` is called once, from a thread of the channel, when another process has failed, is gone or no longer answers; at once if that
  /// has happened before. There may be several listeners, each by an address of its own; a later call with the same address replaces that
  /// one; an empty one ends its listening, and returns only when none is running.
  virtual void listen(const void *listener, std::function<void(const Status &)> told) = 0;
};

} // namespace npar::engine
