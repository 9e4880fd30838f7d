// Tells who waits for a GPU that its work is done: one thread asks the events that were recorded after it.
#pragma once

#include "engine/backends/cuda/driver/CudaDevice.h"
#include "engine/device/Completion.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace npar::engine::cuda {

/// Bytes that have come from the device into page-locked memory, and where they go.
struct Arrival {
  void *target;
  const void *staged;
  uint64_t bytes;
};
void deliver(const std::vector<Arrival> &arrivals);

/// Asks the oldest event of each stream, without pause while events come and for a moment after; then it sleeps between, an eighth of the
/// time that nothing has come, half a millisecond at most.
class Completions {
public:
  explicit Completions(const CudaDevice &device);
  /// Returns when all that was waited for is done.
  ~Completions();

  /// A queue for the work of one more thread.
  size_t addQueue();
  /// Calls `completion` from another thread when all is done that the stream has been given, after it has delivered what arrived, with
  /// `status` or the error that the device came to. Where the event cannot be recorded, at once.
  void whenDone(size_t queue, Handle stream, Completion &completion, Status status, std::vector<Arrival> arrivals);
  /// Blocks until whatever this queue was given has been delivered.
  void waitForDeliveries(size_t queue);

private:
  struct Entry {
    Handle event;
    Completion *completion;
    Status status;
    std::vector<Arrival> arrivals;
  };
  struct Queue {
    std::deque<Entry> entries;
    bool delivering = false;
  };
  void run();
  bool ask(Queue &queue, std::unique_lock<std::mutex> &lock);

  const CudaDevice &device;
  std::mutex mutex;
  std::condition_variable wake, delivered;
  std::deque<Queue> queues;       ///< their places stay
  std::vector<Handle> idleEvents; ///< not recorded at present
  size_t pending = 0;
  bool stopping = false;
  std::thread thread;
};

} // namespace npar::engine::cuda
