// Control cores of many processes in simulated time: processes are killed and stopped, links cut, messages counted.
#pragma once

#include "engine/control/ControlCore.h"

#include <map>
#include <memory>
#include <vector>

namespace npar::testing {

class SimulatedJob {
public:
  SimulatedJob(uint32_t processes, double timeoutSeconds, uint32_t perHost = 1);
  ~SimulatedJob();

  /// Runs for this many seconds; every process makes progress unless it is stuck.
  void run(double seconds);
  /// Kills a process: its connections close at once.
  void kill(uint32_t process);
  /// Stops a process until `resume`; its connections stay open.
  void stop(uint32_t process);
  void resume(uint32_t process);
  /// Drops all later messages between two hosts.
  void cut(uint32_t oneHost, uint32_t otherHost) { cuts.emplace(oneHost, otherHost), cuts.emplace(otherHost, oneHost); }
  /// Delays each tick of this process by `seconds`.
  void delay(uint32_t process, double seconds);
  /// Makes the process's ranks (one, with its own number) wait for others from now on.
  void wait(uint32_t process, std::vector<int64_t> missing);
  /// Makes the process's watchdog report that nothing moves.
  void complain(uint32_t process);
  void fail(uint32_t process, engine::Code code, const std::string &text);
  void leave(uint32_t process);

  const std::optional<engine::FailureReport> &verdict(uint32_t process);
  double now() const { return time; }
  double decidedAt(uint32_t process);
  engine::ControlCore &core(uint32_t process);
  uint64_t messages() const { return messageCount; }
  uint64_t bytes() const { return byteCount; }
  /// Number of messages that one process has sent or received.
  uint64_t messagesOf(uint32_t process);

private:
  struct Process;
  struct Delivery {
    uint32_t from = 0, to = 0;
    std::vector<uint8_t> bytes; ///< empty: the connection has closed
  };
  Process &at(uint32_t process) { return *processes[process]; }
  bool reaches(uint32_t from, uint32_t to) const { return !cuts.count({from / perHost, to / perHost}); }
  void deliver(const Delivery &delivery);

  uint32_t perHost;
  double time = 100; // no clock begins at 0
  std::vector<std::unique_ptr<Process>> processes;
  std::multimap<double, Delivery> flying;
  std::set<std::pair<uint32_t, uint32_t>> cuts;
  uint64_t messageCount = 0, byteCount = 0;
};

} // namespace npar::testing
