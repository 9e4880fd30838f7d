// The one thread of a process that calls its transport: it moves messages, does what others ask of it, and sleeps when there is nothing.
#pragma once

#include "engine/comm/process/Transport.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace npar::engine {

using OpenTransport = std::function<Result<std::unique_ptr<Transport>>()>;

/// While messages move it polls without a pause. Else it sleeps for an eighth of the time in which nothing has moved, at most half a
/// millisecond where somebody here waits for a message (`expect`) and 2 ms where nobody does: a wait becomes longer by an eighth at
/// most, and the progress threads of idle processes leave their cores to those that compute. A job wakes it at once.
class Progress : public std::enable_shared_from_this<Progress> {
public:
  using Job = std::function<void()>;

  /// Returns when the transport is open, which takes as long as the slowest process.
  static Result<std::shared_ptr<Progress>> start(OpenTransport open);
  /// Without a thread: whoever calls `step` is the progress thread. For simulations of very many processes in one.
  static Result<std::shared_ptr<Progress>> withoutThread(const OpenTransport &open);
  /// Does the jobs that have come and moves messages. Whether there was anything.
  bool step();

  /// From any thread: the job runs on the progress thread, soon and after those before it. Nothing happens after `end`.
  void run(Job job);
  /// As `run`, and waits for its end; false when the thread does not come to it in time, as when its library is stuck in a call. Not from
  /// the progress thread.
  bool runAndWait(Job job, double seconds);
  /// Done by the progress thread about every 20 ms. Set before anything else runs.
  void onTick(Job job) { tick = std::move(job); }
  /// So many more (or fewer) things here wait for messages.
  void expect(int64_t change) { expected.fetch_add(change, std::memory_order_relaxed); }
  /// Of the progress thread only.
  Transport &transport() { return *channel; }
  /// From now on the transport is not called; jobs still run. For when messages refer to memory that will be gone.
  void halt() { halted.store(true); }
  bool hasHalted() const { return halted.load(); }
  /// Ends the thread; with `leave` it leaves the job first, together with all other processes. A thread that is stuck in its library is
  /// left behind.
  Status end(bool leave);

  const std::string &transportName() const { return name; }
  uint32_t processes() const { return count; }
  uint32_t process() const { return own; }
  /// Transport::address.
  uint32_t address() const { return where; }

private:
  void open(const OpenTransport &open);
  void loop();
  bool work(std::vector<Job> &taken);
  /// Takes the jobs that have come; without any it waits for one for so long. False at the end.
  bool takeJobs(std::vector<Job> &taken, std::chrono::nanoseconds wait);
  std::chrono::nanoseconds pause(std::chrono::nanoseconds quiet) const;

  std::unique_ptr<Transport> channel; ///< of the progress thread
  std::string name;
  uint32_t count = 1, own = 0, where = 0;
  std::atomic<int64_t> expected{0};
  std::atomic<bool> halted{false};
  Job tick;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable wake, changed;
  std::vector<Job> jobs;
  enum { Opening, Running, Over } state = Opening;
  bool stopping = false, leaving = false;
  Status result; ///< of opening, then of leaving
};

} // namespace npar::engine
