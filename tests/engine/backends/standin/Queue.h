// Work of all streams as a graph of what must wait for what, run one by one in an order that nothing else restricts.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"
#include "tests/engine/backends/standin/Settings.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace npar::standin {

/// The result of an operation, with a message if it failed.
struct Outcome {
  Code code = Code::Success;
  std::string message;
};

struct Device;

/// One operation of a stream, or of a graph's launch.
struct Work {
  Device *device = nullptr;
  std::function<Outcome()> action; ///< may be empty
  std::function<bool()> condition; ///< empty, or what memory must say before it runs
  std::vector<Work *> before;      ///< what has not ended of that which must end first
  std::vector<std::shared_ptr<Work>> after;
  size_t waiting = 0; ///< threads that wait for its end
  bool ended = false, wanted = false;
  uint64_t number = 0; ///< in the order in which work ended, from 1
  int denials = 0;     ///< how often a query still says that it has not ended
  std::chrono::steady_clock::time_point time;
};
using WorkPointer = std::shared_ptr<Work>;

/// The thread that runs work. It lags: work that is not waited for is held back until a few queries have asked for it, or for up to some
/// milliseconds. All randomness comes from the seed. `mutex` guards everything, and is not held while an action runs.
class Queue {
public:
  explicit Queue(const Settings &settings);
  ~Queue();
  Queue(const Queue &) = delete;

  std::mutex mutex;

  // Call these with the mutex held:
  WorkPointer add(Device &device, std::vector<WorkPointer> before, std::function<Outcome()> action, std::function<bool()> condition = {});
  /// Blocks until the work has ended, or its device has failed. Null has ended.
  void wait(std::unique_lock<std::mutex> &lock, WorkPointer work);
  /// Returns true if the host can see that it has ended. Returns false a few times after the end, unless the host knows it in another way.
  bool query(const WorkPointer &work);
  /// The host knows in another way about everything that has ended: queries return true for it from now on.
  void seeAll() { seen = ended; }
  uint64_t draw(uint64_t below) { return random() % below; }

private:
  using Clock = std::chrono::steady_clock;
  void runAll();
  void want(const WorkPointer &work);
  /// The place in `ready` of what runs next, or its size where nothing can now.
  size_t choose();
  void finish(const WorkPointer &work);
  void hold(bool always);
  void see(const Work &work) { seen = std::max(seen, work.number); }

  const Faults faults;
  std::mt19937_64 random;
  std::condition_variable changed, woken; ///< for those who wait; for the thread
  std::vector<WorkPointer> ready;
  size_t waiting = 0; ///< threads that wait for something that has not ended
  Clock::time_point heldUntil;
  int patience = 0;             ///< queries until held work continues
  uint64_t operations = 0;      ///< that were started
  uint64_t ended = 0, seen = 0; ///< the last number given, the last one that the host knows of
  bool stopping = false;
  std::thread thread;
};

} // namespace npar::standin
