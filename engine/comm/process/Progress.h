// The one thread of a process that calls its transport: it moves messages, runs jobs of other threads, and sleeps when idle.
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

/// Polls without pause while messages move. Otherwise it sleeps for an eighth of the time in which nothing has moved: at most half a
/// millisecond while a local operation waits for a message (`expect`), and 2 ms otherwise. So a wait grows by at most an eighth, and the
/// progress threads of idle processes leave their cores to those that compute. A job wakes it at once.
class Progress : public std::enable_shared_from_this<Progress> {
public:
  using Job = std::function<void()>;

  /// Returns when the transport is open, which takes as long as the slowest process.
  static Result<std::shared_ptr<Progress>> start(OpenTransport open);
  /// Makes an instance without a thread: the caller of `step` acts as the progress thread. For simulations of very many processes in one.
  static Result<std::shared_ptr<Progress>> withoutThread(const OpenTransport &open);
  /// Runs waiting jobs and moves messages. True if there was anything to do.
  bool step();

  /// Runs the job on the progress thread, soon, after earlier jobs. Jobs after `end` are ignored. Thread-safe.
  void run(Job job);
  /// Like `run`, but waits for the job's end; false if the thread does not run it in time, for example because its library is stuck in a
  /// call. Not for the progress thread.
  bool runAndWait(Job job, double seconds);
  /// Sets a job that runs about every 20 ms. Call it before anything else runs.
  void onTick(Job job) { tick = std::move(job); }
  /// Adds to the number of local operations that wait for messages.
  void expect(int64_t change) { expected.fetch_add(change, std::memory_order_relaxed); }
  /// The transport; for the progress thread only.
  Transport &transport() { return *channel; }
  /// Stops all calls of the transport; jobs still run. Needed when messages refer to memory that will be freed.
  void halt() { halted.store(true); }
  bool hasHalted() const { return halted.load(); }
  /// Ends the thread. With `leave` it first leaves the job, together with all other processes. A thread that is stuck in its library is
  /// abandoned.
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
  /// Takes waiting jobs; without any, waits for one for up to `wait`. False at the end.
  bool takeJobs(std::vector<Job> &taken, std::chrono::nanoseconds wait);
  std::chrono::nanoseconds pause(std::chrono::nanoseconds quiet) const;

  std::unique_ptr<Transport> channel; ///< for the progress thread only
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
  Status result; ///< result of opening, then of leaving
};

} // namespace npar::engine
