// The first failure of reading data, to be asked for after each batch.
#pragma once

#include "engine/status/Status.h"

#include <memory>
#include <mutex>

namespace npar::engine {

/// Copies share one failure. Thread-safe.
class ReadFailure {
public:
  /// Keeps the first status that is not good; returns whether this one is good.
  bool keep(const Status &status) const {
    if (status.ok())
      return true;
    std::lock_guard<std::mutex> lock(state->mutex);
    if (state->first.ok())
      state->first = status;
    return false;
  }
  Status first() const {
    std::lock_guard<std::mutex> lock(state->mutex);
    return state->first;
  }

private:
  struct State {
    std::mutex mutex;
    Status first;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
};

} // namespace npar::engine
