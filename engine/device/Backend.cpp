// Shared by all backends: the error for memory that a backend lacks, and waiting for a device from a thread that runs no steps.
#include "engine/device/Backend.h"

#include "engine/program/Words.h"

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

Result<DeviceAddress> Backend::allocateIn(program::Tier tier, size_t, uint64_t, const std::string &) {
  return Status::badInput("backend '" + name() + "' has no memory in tier '" + program::wordOf(tier) +
                          "', in which the plan stores values: leave the rule out of `store`, or use another backend");
}

Status waitUntilDone(Backend &backend) {
  if (!backend.asynchronous())
    return backend.intact();
  Waiting waiting;
  backend.whenDone(waiting);
  std::unique_lock<std::mutex> lock(waiting.mutex);
  waiting.wake.wait(lock, [&] { return waiting.done; });
  return waiting.result;
}

} // namespace npar::engine
