// Notices that nothing has moved for too long while something should.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace npar::engine {

/// Calls `expired` once, from its own thread, when `progress` has not changed for `seconds` between start() and stop().
class Watchdog {
public:
  Watchdog(double seconds, const std::atomic<uint64_t> &progress, std::function<void()> expired);
  ~Watchdog();
  void start();
  /// Returns only when `expired` is not running.
  void stop();

private:
  void watch();

  double seconds;
  const std::atomic<uint64_t> &progress;
  std::function<void()> expired;
  std::mutex mutex;
  std::condition_variable wake;
  bool active = false, quitting = false, fired = false;
  std::thread thread;
};

} // namespace npar::engine
