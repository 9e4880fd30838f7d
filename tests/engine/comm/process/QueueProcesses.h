// Processes of a job for tests: groups over a network of queues, and a failure channel between threads.
#pragma once

#include "engine/comm/process/ProcessGroup.h"
#include "tests/engine/comm/process/QueueTransport.h"

namespace npar::testing {

/// Tells the others from a thread of its own, as a channel between processes does.
class ThreadFailures {
public:
  explicit ThreadFailures(size_t processes);
  ~ThreadFailures();
  engine::FailureChannel &of(size_t process);
  /// The first failure, the process that reported it, and the accused rank (-1: none).
  struct Told {
    engine::Status status;
    int64_t process = -1, accused = -1;
  };
  Told first() const;

private:
  class Channel;
  void tell(size_t process, int64_t accused, const engine::Status &status);
  void run();

  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::unique_ptr<Channel>> channels;
  Told told;
  bool stopping = false;
  std::thread thread;
};

/// One group per process, each in its own thread.
struct QueueProcesses {
  explicit QueueProcesses(size_t count, QueueOptions options = {});
  std::shared_ptr<engine::Communicator> communicator(size_t process, engine::Backend &backend) {
    return groups[process]->communicator(backend, failures.of(process));
  }
  std::shared_ptr<QueueNetwork> network;
  ThreadFailures failures;
  std::vector<std::shared_ptr<engine::ProcessGroup>> groups;
};

} // namespace npar::testing
