// Notices that nothing has moved for too long while something should.
#include "engine/runtime/Watchdog.h"

#include <algorithm>
#include <chrono>

namespace npar::engine {

Watchdog::Watchdog(double seconds, const std::atomic<uint64_t> &progress, std::function<void()> expired)
    : seconds(seconds), progress(progress), expired(std::move(expired)), thread([this] { watch(); }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    quitting = true;
  }
  wake.notify_all();
  thread.join();
}

void Watchdog::start() {
  std::lock_guard<std::mutex> lock(mutex);
  active = true;
  wake.notify_all();
}

void Watchdog::stop() {
  std::lock_guard<std::mutex> lock(mutex);
  active = false;
}

void Watchdog::watch() {
  using Instant = std::chrono::steady_clock::time_point;
  std::unique_lock<std::mutex> lock(mutex);
  uint64_t seen = 0;
  Instant since{};
  bool watching = false;
  while (!quitting) {
    if (!active || fired) {
      watching = false;
      wake.wait(lock);
      continue;
    }
    Instant now = std::chrono::steady_clock::now();
    uint64_t current = progress.load();
    if (!watching || current != seen) {
      watching = true, seen = current, since = now;
    } else if (std::chrono::duration<double>(now - since).count() >= seconds) {
      fired = true;
      expired();
      continue;
    }
    wake.wait_for(lock, std::chrono::duration<double>(std::clamp(seconds / 8, 1e-3, 0.1)));
  }
}

} // namespace npar::engine
