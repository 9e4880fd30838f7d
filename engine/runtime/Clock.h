// The engine's source of time: the machine's clock, or a virtual one.
#pragma once

#include <chrono>

namespace npar::engine {

class Clock {
public:
  virtual ~Clock() = default;
  /// Seconds from some origin, never backwards. Thread-safe.
  virtual double now() const = 0;
};

class SystemClock final : public Clock {
public:
  double now() const override { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

} // namespace npar::engine
