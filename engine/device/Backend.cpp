// Waiting for a device from a thread that runs no steps.
#include "engine/device/Backend.h"

#include <condition_variable>
#include <mutex>

namespace npar::engine {

namespace {

struct Waiting final : Completion {
  void completed(const Status &status) override {
    std::lock_guard<std::mutex> lock(mutex);
    result = status;
    done = true;
    wake.notify_all(); // under the lock: the waiting thread destroys this as soon as it has it
  }
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  Status result;
};

} // namespace

Status waitUntilDone(Backend &backend) {
  if (!backend.asynchronous())
    return {};
  Waiting waiting;
  backend.whenDone(waiting);
  std::unique_lock<std::mutex> lock(waiting.mutex);
  waiting.wake.wait(lock, [&] { return waiting.done; });
  return waiting.result;
}

} // namespace npar::engine
